# SPDX-License-Identifier: Apache-2.0

"""A rebuilt server has the networks and volumes that it would have had."""

import copy

from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client as api_client
from oslo_utils.fixture import uuidsentinel

from tests.functional.support import cinder
from tests.functional.requests import comparison_base

NEUTRON = nova_fixtures.NeutronFixture
PORT = NEUTRON.port_1['id']
NETWORK = NEUTRON.network_1['id']
VOLUME = cinder.ROOT
DATA = uuidsentinel.data_volume


class NetworkTest(comparison_base.ComparisonTestCase):

    hosts = ('host1',)

    def setUp(self):
        super().setUp()
        self.web = uuidsentinel.web
        self.neutron._security_groups[self.web] = {
            **NEUTRON.security_group, 'id': self.web, 'name': 'web',
            'security_group_rules': []}
        self.neutron.find_resource = self._find_resource

    def _find_resource(self, resource, name, *args, **kwargs):
        [found] = [group for group in self.neutron._security_groups.values()
                   if group['name'] == name]
        return found

    def ports_of(self, server):
        return [port['id'] for port in self.neutron._ports.values()
                if port.get('device_id') == server['id']]

    def test_port(self):
        rebuilt = self.compare({'networks': [{'port': PORT}]})
        self.assertEqual([PORT], self.ports_of(rebuilt))

    def test_networks_auto(self):
        rebuilt = self.compare({'networks': 'auto'})
        self.assertEqual(1, len(self.ports_of(rebuilt)))

    def test_networks_left_out(self):
        rebuilt = self.compare({'networks': None}, microversion='2.36')
        self.assertEqual(1, len(self.ports_of(rebuilt)))

    def test_nic_tags(self):
        self.compare({'networks': [{'port': PORT, 'tag': 'mine'}]})

    def test_several_nics_in_order(self):
        second = self.neutron.create_port()['port']['id']
        self.ports.add(second)
        rebuilt = self.compare({'networks': [
            {'port': second}, {'port': PORT}, {'uuid': NETWORK}]})
        self.assertEqual(3, len(self.ports_of(rebuilt)))

    def test_fixed_ip(self):
        self.compare(
            {'networks': [{'uuid': NETWORK, 'fixed_ip': '192.168.1.50'}]})
        self.assertIn('192.168.1.50', str(self._asked))

    def test_security_groups(self):
        self.compare({'networks': [{'uuid': NETWORK}],
                      'security_groups': [{'name': 'web'}]})
        self.assertIn(self.web, str(self._asked))

    def test_security_groups_cannot_be_changed_while_buried(self):
        def add(server):
            error = self.assertRaises(
                api_client.OpenStackApiException,
                self.api.post_server_action, server['id'],
                {'addSecurityGroup': {'name': 'web'}})
            self.assertEqual(404, error.response.status_code)
        self.compare({'networks': [{'uuid': NETWORK}]}, meanwhile=add)
        self.assertNotIn(self.web, str(self._asked))


class VolumeTest(comparison_base.ComparisonTestCase):

    hosts = ('host1',)

    def root(self, **bdm):
        return {'imageRef': '', 'block_device_mapping_v2': [
            {'boot_index': 0, 'destination_type': 'volume', **bdm}]}

    def data(self, **bdm):
        """Return a local root disk and a volume of data."""
        return {'block_device_mapping_v2': [
            {'boot_index': 0, 'source_type': 'image',
             'destination_type': 'local', 'delete_on_termination': True,
             'uuid': self.glance.image1['id']},
            {'boot_index': -1, 'source_type': 'volume',
             'destination_type': 'volume', 'uuid': DATA, **bdm}]}

    def test_root_volume(self):
        self.compare(self.root(uuid=VOLUME, source_type='volume'))

    def test_root_volume_from_an_image(self):
        self.compare(self.root(
            uuid=self.glance.image1['id'], source_type='image',
            volume_size=2, volume_type='lvm-1', delete_on_termination=True))

    def image(self, **properties):
        """Return the ID of an image that can be told by its properties."""
        image = copy.deepcopy(self.glance.image1)
        image.update(id=uuidsentinel.image, properties={
            'hw_disk_bus': 'ide', 'kernel_id': self.glance.image2['id'],
            **properties})
        self.glance.create(None, image)
        return image['id']

    def test_root_volume_beside_an_image(self):
        self.compare({**self.root(uuid=VOLUME, source_type='volume'),
                      'imageRef': self.image()})

    def test_image_that_brings_its_root_volume(self):
        snapshot = self.cinder.fake_create_snapshot_force(
            None, VOLUME, 'name', 'description')
        self.compare({'imageRef': self.image(
            bdm_v2=True, block_device_mapping=[{
                'boot_index': 0, 'source_type': 'snapshot',
                'destination_type': 'volume', 'volume_size': 1,
                'snapshot_id': snapshot['id'], 'device_name': '/dev/vda',
                'delete_on_termination': False}])})

    def test_data_volume(self):
        self.compare(self.data(
            tag='mine', disk_bus='virtio', device_type='disk',
            delete_on_termination=True))

    def test_data_volume_in_the_old_form(self):
        self.compare({'block_device_mapping': [
            {'volume_id': DATA, 'device_name': 'vdb'}]})

    def test_blank_volume_swap_and_ephemeral_disks(self):
        flavor = self._create_flavor(swap=64, ephemeral=2, disk=1)
        body = self.data()
        blank = {'source_type': 'blank', 'boot_index': -1}
        body['block_device_mapping_v2'][1:] = [
            {**blank, 'destination_type': 'volume', 'volume_size': 1},
            {**blank, 'destination_type': 'local', 'guest_format': 'swap',
             'volume_size': 64},
            {**blank, 'destination_type': 'local', 'guest_format': 'ext4',
             'volume_size': 2}]
        rebuilt = self.compare({**body, 'flavorRef': flavor})
        self.assertEqual(
            1, len(rebuilt['os-extended-volumes:volumes_attached']))

    def test_changed_delete_on_termination(self):
        def put(server):
            self.api.api_put(
                f'/servers/{server["id"]}/os-volume_attachments/{DATA}',
                {'volumeAttachment': {
                    'volumeId': DATA, 'delete_on_termination': True}})
        rebuilt = self.compare(
            self.data(delete_on_termination=False),
            self.data(delete_on_termination=True), meanwhile=put)
        self.assertEqual(
            [True], [volume['delete_on_termination'] for volume in
                     rebuilt['os-extended-volumes:volumes_attached']])
