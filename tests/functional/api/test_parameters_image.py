# SPDX-License-Identifier: Apache-2.0

"""The image that a rebuild request may change on a buried server."""

import itertools

import ddt
from nova import context as nova_context
from nova import objects
from oslo_utils.fixture import uuidsentinel

from cell0_rebuild import cells
from tests.functional.api import parameters_base
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base

NUMA = {'hw:numa_nodes': '1'}


class NewImageTest(parameters_base.ParameterTestCase):

    def test_its_properties_take_the_place_of_the_old_ones(self):
        old = self.new_image(properties={'hw_disk_bus': 'ide'}, min_ram=1)
        new = self.new_image(properties={'hw_vif_model': 'e1000'}, min_ram=2)
        server = self.bury(imageRef=old)
        self.rebuilt(server, imageRef=new)
        found = {
            row['key']: row['value'] for row in
            databases.dump()['cell1']['instance_system_metadata']}
        self.assertNotIn('image_hw_disk_bus', found)
        self.assertEqual(
            ('e1000', '2', new),
            (found['image_hw_vif_model'], found['image_min_ram'],
             found['image_base_image_ref']))

    def test_what_nova_takes_from_it_is_taken(self):
        ramdisk = self.glance.image1['id']
        new = self.new_image(properties={
            'os_type': 'linux', 'vm_mode': 'hvm', 'architecture': 'x86_64',
            'kernel_id': self.glance.image2['id'], 'ramdisk_id': ramdisk,
            'auto_disk_config': 'True'})
        server = self.bury(imageRef=self.glance.image2['id'])
        self.rebuilt(server, imageRef=new)
        row = self.row()
        self.assertEqual(
            (new, 'linux', 'hvm', 'x86_64', self.glance.image2['id'],
             ramdisk, True),
            tuple(row[name] for name in (
                'image_ref', 'os_type', 'vm_mode', 'architecture',
                'kernel_id', 'ramdisk_id', 'auto_disk_config')))

    def test_a_kernel_of_the_old_image_is_forgotten(self):
        server = self.bury(imageRef=self.glance.image5['id'])
        self.assertTrue(self.row('cell0')['kernel_id'])
        self.rebuilt(server, imageRef=self.glance.image1['id'])
        self.assertEqual('', self.row()['kernel_id'])

    def test_the_scheduler_and_the_compute_are_given_it(self):
        server, new, given = self.bury(), self.new_image(), []
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager.build_and_run_instance',
            before=lambda *args, **kwargs: given.append(
                kwargs['image']['id'])))
        self.useFixture(base.Interception(
            races_base.SCHEDULER,
            before=lambda _self, _context, spec, *args, **kwargs:
                given.append(spec.image.id)))
        self.rebuilt(server, imageRef=new)
        self.assertEqual([new, new], given)
        self.assertEqual(new, databases.spec_of(server['id']).image.id)


class NumaTest(parameters_base.ParameterTestCase):
    """No host is there: what is asked for is looked at in cell0."""

    def topologies(self, server):
        """Return how many NUMA nodes the instance and its spec ask for."""
        context = nova_context.get_admin_context()
        instance = objects.Instance.get_by_uuid(
            cells.in_cell0(context), server['id'],
            expected_attrs=['numa_topology'])
        return [len(topology) if topology else 0 for topology in (
            instance.numa_topology,
            databases.spec_of(server['id']).numa_topology)]

    def rebuild_in_vain(self, server, **body):
        self.rebuild(server, **body)
        self.buried_again(server)

    def test_an_image_that_asks_for_nodes_gives_the_server_a_topology(self):
        server = self.bury()
        self.assertEqual([0, 0], self.topologies(server))
        self.rebuild_in_vain(server, imageRef=self.new_image(
            properties={'hw_numa_nodes': '1'}))
        self.assertEqual([1, 1], self.topologies(server))

    def test_an_image_that_asks_for_none_takes_it_away(self):
        server = self.bury(imageRef=self.new_image(
            properties={'hw_numa_nodes': '1'}))
        self.assertEqual([1, 1], self.topologies(server))
        self.rebuild_in_vain(server, imageRef=self.glance.image1['id'])
        self.assertEqual([0, 0], self.topologies(server))

    def test_the_topology_of_the_flavor_stays(self):
        server = self.bury(flavorRef=self._create_flavor(extra_spec=NUMA))
        self.rebuild_in_vain(server, imageRef=self.new_image())
        self.assertEqual([1, 1], self.topologies(server))


ENCRYPTED = {'hw_ephemeral_encryption': 'true',
             'hw_ephemeral_encryption_format': 'luks'}


@ddt.ddt
class EncryptionTest(parameters_base.ParameterTestCase):

    compute_driver = 'fake.EphEncryptionDriverLUKS'

    def assert_encrypted(self, expected):
        """Check what the disks of the rebuilt server are."""
        self.assertEqual({expected}, {
            (row['encrypted'], row['encryption_format'])
            for row in databases.dump()['cell1']['block_device_mapping']})

    def rebuilt_with(self, before, after):
        """Rebuild a server from images with these properties."""
        server = self.bury(imageRef=self.new_image(properties=before))
        self.rebuilt(server, imageRef=self.new_image(properties=after))

    def test_an_image_that_asks_for_it_has_local_disks_encrypted(self):
        self.rebuilt_with({}, ENCRYPTED)
        self.assert_encrypted((True, 'luks'))

    def test_an_image_that_asks_for_none_leaves_them_as_they_are(self):
        self.rebuilt_with(ENCRYPTED, {})
        self.assert_encrypted((False, None))

    @ddt.data(*itertools.product((True, False), repeat=2))
    @ddt.unpack
    def test_the_image_decides_also_after_a_rebuild_that_found_no_host(
            self, is_encrypted, names_it):
        expected, other = (ENCRYPTED, {}) if is_encrypted else ({}, ENCRYPTED)
        server = self.bury(imageRef=self.new_image(properties=other))
        image = {'imageRef': self.new_image(properties=expected)}
        self.rebuild(server, **image)
        self.buried_again(server)
        self.rebuilt(server, **(image if names_it else {}))
        self.assert_encrypted(
            (True, 'luks') if is_encrypted else (False, None))


class SameImageTest(parameters_base.ParameterTestCase):

    def setUp(self):
        super().setUp()
        self.image = self.new_image(properties={
            'architecture': 'x86_64', 'hw_vif_model': 'e1000'})
        self.server = self.bury(
            imageRef=self.image, **{'OS-DCF:diskConfig': 'AUTO'})
        self.properties = self.glance.images[self.image]['properties']

    def test_an_image_that_is_gone_meanwhile_is_400(self):
        del self.glance.images[self.image]
        self.assert_refused_without_trace(400, self.server)

    def test_a_property_that_is_mended_in_the_image_has_effect(self):
        self.properties.update(os_type='linux', hw_vif_model='virtio')
        seen = []
        self.useFixture(base.Interception(
            races_base.SCHEDULER,
            before=lambda _self, _context, spec, *args, **kwargs:
                seen.append(spec.image.properties.hw_vif_model)))
        rebuilt = self.rebuilt(self.server)
        self.assertEqual(['virtio'], seen)
        self.assertEqual('linux', self.row()['os_type'])
        self.assertIn(
            'virtio', [row['value'] for row in databases.dump()['cell1'][
                'instance_system_metadata']
                if row['key'] == 'image_hw_vif_model'])
        self.assertEqual('AUTO', rebuilt['OS-DCF:diskConfig'])

    def test_an_unchanged_image_leaves_the_request_spec_as_it_was(self):
        before = databases.spec_of(self.server['id']).blob
        self.rebuild(self.server, imageRef=self.image)
        self.buried_again(self.server)
        self.assertEqual(before, databases.spec_of(self.server['id']).blob)


class RefusedAsStockTest(parameters_base.ParameterTestCase):
    """A launched server is asked the same and answers the same."""

    def assert_refused_as_stock(self, code, needle, **body):
        server = self.bury()
        self._start_compute('host1')
        launched = self._create_server(networks='none')
        answers = [self.assert_refused(code, launched, base.STOCK, **body)]
        answers.append(
            self.assert_refused_without_trace(code, server, **body))
        for answer in answers:
            self.assertIn(needle, answer)

    def test_an_image_that_does_not_exist_is_400(self):
        self.assert_refused_as_stock(
            400, 'Cannot find image', imageRef=uuidsentinel.no_image)

    def test_an_image_that_is_not_active_is_400(self):
        self.assert_refused_as_stock(
            400, 'is not active', imageRef=self.new_image(status='queued'))

    def test_an_image_that_needs_more_ram_is_400(self):
        self.assert_refused_as_stock(
            400, 'memory is too small',
            imageRef=self.new_image(min_ram=99999))

    def test_an_image_that_needs_more_disk_is_400(self):
        self.assert_refused_as_stock(
            400, 'minimum', imageRef=self.new_image(min_disk=99999))

    def test_an_image_that_is_larger_than_the_disk_is_400(self):
        self.assert_refused_as_stock(
            400, 'too small for requested image',
            imageRef=self.new_image(size=10 ** 15))

    def test_an_architecture_that_does_not_exist_is_400(self):
        self.assert_refused_as_stock(
            400, 'Architecture name', imageRef=self.new_image(
                properties={'hw_architecture': 'abacus'}))

    def test_a_property_that_is_invalid_is_400(self):
        self.assert_refused_as_stock(
            400, 'Invalid image metadata', imageRef=self.new_image(
                properties={'hw_numa_nodes': 'many'}))

    def test_disk_config_that_the_image_forbids_is_400(self):
        image = self.new_image(properties={'auto_disk_config': 'disabled'})
        self.assert_refused_as_stock(
            400, 'automatic disk resize disabled', imageRef=image,
            **{'OS-DCF:diskConfig': 'AUTO'})

    def test_a_key_that_does_not_exist_is_400(self):
        self.assert_refused_as_stock(
            400, 'Invalid key_name', key_name='no-such-key',
            imageRef=self.glance.image1['id'])


class ForbiddenByFlavorTest(parameters_base.ParameterTestCase):

    def test_an_image_that_overrides_the_flavors_topology_is_400(self):
        server = self.bury(flavorRef=self._create_flavor(extra_spec=NUMA))
        self.assert_refused_without_trace(
            400, server, imageRef=self.new_image(
                properties={'hw_numa_nodes': '2'}))
