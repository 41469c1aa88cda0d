# SPDX-License-Identifier: Apache-2.0

"""A volume-backed server that has an image keeps it, and its volume."""

from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.volumes import own_image_base


class KeptTest(own_image_base.OwnImageTestCase):
    """No host is there: what the server asks for is looked at in cell0."""

    def assert_kept(self, server, **body):
        """Check that a rebuild leaves the image and the volume alone."""
        before = self.root(), self.row()['image_ref'], self.properties()
        self.assertEqual('ide', before[2]['image_hw_disk_bus'])
        self.rebuild(server, **body)
        self.buried_again(server)
        found = self.root(), self.row()['image_ref'], self.properties()
        self.assertEqual(before, found)
        self.assertEqual([], self.cinder.written)

    def test_the_image_of_its_volume_may_be_written_in_any_form(self):
        server = self.bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'uuid': cinder.ROOT, 'source_type': 'volume',
            'destination_type': 'volume'}])
        self.rebuild(server, imageRef=self.cinder.image.upper())
        self.buried_again(server)
        self.assertEqual([], self.cinder.written)

    def test_an_image_that_is_gone_does_not_matter_to_its_volume(self):
        server = self.bury(**self.on_volume())
        del self.glance.images[self.own]
        self.assert_kept(server)
        self.assert_kept(server, imageRef=self.own)


class BuiltTest(own_image_base.OwnImageTestCase):

    def test_no_host_without_a_trait_that_its_image_requires_gets_it(self):
        image = self.image_of_a_server(
            **{'trait:HW_CPU_X86_SGX': 'required'})
        server = self.bury(imageRef=image)
        self._start_compute('host1')
        self.rebuild(server)
        self.buried_again(server)
        self._set_provider_traits(
            self._get_provider_uuid_by_name('host1'), ['HW_CPU_X86_SGX'])
        self.rebuild(server)
        self.active(server)

    def test_the_kernel_of_its_image_stays(self):
        kernel = self.glance.image2['id']
        server = self.bury(imageRef=self.image_of_a_server(kernel_id=kernel))
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertEqual(kernel, self.row('cell1')['kernel_id'])


    def test_a_disk_that_its_image_brings_encrypted_stays_so(self):
        image = self.image_of_a_server()
        self.glance.images[image]['properties'][
            'block_device_mapping'].append({
                'source_type': 'blank', 'destination_type': 'local',
                'boot_index': -1, 'device_name': '/dev/vdb', 'volume_size': 1,
                'encrypted': True, 'encryption_format': 'luks'})
        server = self.bury(
            imageRef=image, flavorRef=self._create_flavor(ephemeral=1))
        self.rebuild(server)
        self.buried_again(server)
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertEqual([(True, 'luks')], [
            (row['encrypted'], row['encryption_format'])
            for row in databases.dump()['cell1']['block_device_mapping']
            if row['destination_type'] == 'local'])


class NewTest(own_image_base.OwnImageTestCase):
    """Another image takes the place of the server's."""

    def rebuilt_in_vain(self, server, image):
        self.rebuild(server, imageRef=image)
        return self.buried_again(server)['image']['id']

    def test_the_server_has_it_afterwards(self):
        server = self.bury(**self.on_volume())
        self.assertEqual(
            self.other, self.rebuilt_in_vain(server, self.other))
        self.assertEqual(
            self.other, self.properties()['image_base_image_ref'])
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual(
            [self.other], [image for _, image, _ in self.cinder.written])

    def test_one_without_data_is_400(self):
        for server in (self.bury(**self.on_volume()), self.bury()):
            self.assertIn('it has no data', self.assert_refused_without_trace(
                400, server, imageRef=self.image_of_a_server()))


class LaunchedTest(own_image_base.OwnImageTestCase):

    def setUp(self):
        super().setUp()
        self._start_compute('host1')

    def test_nova_cannot_rebuild_it_with_an_image_that_is_not_its_volumes(
            self):
        server = self.launch(**self.on_volume())
        error = self.assert_refused_without_trace(409, server)
        self.assertIn(f'root volume {self.cinder.image}.', error)

    def test_with_the_image_of_its_volume_it_keeps_the_data(self):
        self.own = self.cinder.image.upper()
        self.glance.images[self.own] = self.glance.images[self.cinder.image]
        server = self.launch(**self.on_volume())
        self.rebuild(server)
        self._wait_for_server_parameter(
            server, {'status': 'ACTIVE', 'OS-EXT-STS:task_state': None})
        self.assertEqual([], self.cinder.written)
        self.assertEqual('rebuild', self.actions(server)[-1][0])


class ImageOfAServerTest(own_image_base.OwnImageTestCase):

    def test_a_server_from_it_is_built_from_the_snapshot(self):
        self._start_compute('host1')
        source = self.launch(**{**self.beside(
            source_type='image', uuid=self.other, volume_size=1),
            'imageRef': ''})
        answer = self.api.post_server_action(
            source['id'], {'createImage': {'name': 'of-a-server'}})
        image = self.glance.images[answer['image_id']]
        # Glance gives numbers.
        image.update({name: int(image.get(name) or 0)
                      for name in ('min_disk', 'min_ram')})
        [mapping] = image['properties']['block_device_mapping']
        self.assertEqual(0, image['size'])
        self.cinder.status = 'reserved'
        self.reserve_vcpus('host1', 10)
        server = self.bury(imageRef=image['id'])
        self.reserve_vcpus('host1', 0)
        self.rebuild(server, imageRef=server['image']['id'])
        self.active(server)
        [root] = [row for row in databases.dump()['cell1'][
            'block_device_mapping'] if row['instance_uuid'] == server['id']]
        self.assertEqual(('snapshot', mapping['snapshot_id'], None), (
            root['source_type'], root['snapshot_id'], root['image_id']))
        self.assertEqual([], self.cinder.written)
