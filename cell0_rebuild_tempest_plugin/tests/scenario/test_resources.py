# SPDX-License-Identifier: Apache-2.0

"""The ports and volumes of a buried server wait for capacity with it."""

from __future__ import annotations

from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators
from tempest.lib import exceptions

from cell0_rebuild_tempest_plugin.tests import base

CONF = config.CONF


class PortTest(base.BuriedServerTest):

    @decorators.idempotent_id('3c7b5e91-a2d8-4f06-9e4c-b8d1f6a0c753')
    def test_a_port_and_its_address_stay_with_the_server(self):
        ports = self.os_primary.ports_client
        port = ports.create_port(
            network_id=self.get_tenant_network()['id'])['port']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        ports.delete_port, port['id'])
        buried = self.bury(networks=[{'port': port['id']}])
        host = self.capacity.come_back()

        self.rebuild(buried)

        server = self.assert_rebuilt(buried, host)
        shown = ports.show_port(port['id'])['port']
        self.assertEqual(buried['id'], shown['device_id'])
        self.assertEqual(port['fixed_ips'], shown['fixed_ips'])
        self.assertEqual(
            [address['ip_address'] for address in port['fixed_ips']],
            [address['addr'] for network in server['addresses'].values()
             for address in network])
        self.delete(buried['id'])
        self.assertEqual(
            '', ports.show_port(port['id'])['port']['device_id'])


class VolumeTest(base.BuriedServerTest):

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not (CONF.service_available.cinder
                and CONF.cell0_rebuild.volumes):
            raise cls.skipException('servers cannot boot from volumes')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.volumes = cls.os_primary.volumes_client_latest

    def make_volume(self):
        """Return the ID of a volume that a server can boot from."""
        volume = self.volumes.create_volume(
            name=data_utils.rand_name('root'), size=CONF.volume.volume_size,
            imageRef=CONF.compute.image_ref)['volume']['id']
        self.addCleanup(self.volumes.wait_for_resource_deletion, volume)
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.volumes.delete_volume, volume)
        self.wait_for_volume(volume, 'available')
        return volume

    def wait_for_volume(self, volume, status):
        """Wait until a volume has a status."""
        self.assertTrue(test_utils.call_until_true(
            lambda: status == self.volumes.show_volume(
                volume)['volume']['status'],
            CONF.volume.build_timeout, CONF.volume.build_interval),
            f'volume {volume} does not become {status}')

    def root(self, volume):
        """Return what a server is created with to boot from a volume."""
        return {'imageRef': '', 'block_device_mapping_v2': [{
            'boot_index': 0, 'uuid': volume, 'source_type': 'volume',
            'destination_type': 'volume'}]}

    def other_image(self):
        """Return an image that can be written to the volume of a server."""
        if CONF.compute.image_ref_alt == CONF.compute.image_ref:
            raise self.skipException('there is no other image')
        return CONF.compute.image_ref_alt

    def assert_attached(self, volume, server):
        """Check that a volume is attached to a server alone; return it."""
        self.wait_for_volume(volume, 'in-use')
        shown = self.volumes.show_volume(volume)['volume']
        self.assertEqual([server['id']], [
            attachment['server_id'] for attachment in shown['attachments']])
        return shown

    def assert_overwritten(self, volume, server, image):
        """Check that the volume of a server was written with an image."""
        shown = self.assert_attached(volume, server)
        self.assertEqual(image, shown['volume_image_metadata']['image_id'])
        self.assertEqual([volume], [
            attached['volumeId'] for attached in
            self.servers.list_volume_attachments(
                server['id'])['volumeAttachments']])

    @decorators.idempotent_id('f2a9d4c8-6e1b-4735-8d0f-a4c3b7e59d12')
    def test_a_server_boots_from_the_volume_it_was_created_with(self):
        volume = self.make_volume()
        buried = self.bury(**self.root(volume))
        self.assertRaises(exceptions.BadRequest, self.volumes.delete_volume,
                          volume)
        host = self.capacity.come_back()

        self.rebuild(buried)

        self.assert_rebuilt(buried, host)
        self.assert_attached(volume, buried)
        self.delete(buried['id'])
        self.wait_for_volume(volume, 'available')

    @decorators.idempotent_id('5b1f8e07-c3d9-4a26-b7f4-2e90d6a8c451')
    def test_another_image_is_written_to_the_volume_of_a_buried_server(self):
        image = self.other_image()
        volume = self.make_volume()
        buried = self.bury(**self.root(volume))
        host = self.capacity.come_back()

        self.rebuild(buried, imageRef=image)

        self.assert_rebuilt(buried, host)
        self.assert_overwritten(volume, buried, image)

    @decorators.idempotent_id('e80c4d6a-17b2-4f95-9a3e-6fd1b05c7328')
    def test_the_image_stays_when_the_server_is_buried_again(self):
        image = self.other_image()
        volume = self.make_volume()
        buried = self.bury(**self.root(volume))
        self.rebuild(buried, imageRef=image)
        again = self.wait_until_settled(buried['id'])
        self.assertEqual('ERROR', again['status'])
        self.assertIn('No valid host', again['fault']['message'])
        self.wait_for_volume(volume, 'reserved')
        host = self.capacity.come_back()

        self.rebuild(buried, imageRef=image)

        self.assert_rebuilt(buried, host)
        self.assert_overwritten(volume, buried, image)

    @decorators.idempotent_id('92d7a3f5-0e6c-48b1-8c5a-d4b7f1e36a90')
    def test_another_image_is_written_to_the_volume_of_a_launched_one(self):
        image = self.other_image()
        volume = self.make_volume()
        host = self.capacity.come_back()
        launched = self.create(**self.root(volume))
        self.assertEqual('ACTIVE', launched['status'])

        self.rebuild(launched, imageRef=image)

        self.assert_rebuilt(launched, host)
        self.assert_overwritten(volume, launched, image)
