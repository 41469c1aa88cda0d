# SPDX-License-Identifier: Apache-2.0

"""What is left of a server that was rebuilt, and then deleted."""

from tests.e2e import base
from tests.integration import processes
from tools.cloud import contents


class DeleteTestCase(base.CloudTestCase):

    def test_nothing_is_left(self):
        volume = self.create_volume()
        network = self.user.network.find_network(contents.NETWORK)
        server = self.bury(
            networks=[{'uuid': network.id}], block_device_mapping=[
                {'boot_index': 0, 'source_type': 'image',
                 'uuid': self.image(contents.IMAGE),
                 'destination_type': 'local'},
                {'boot_index': -1, 'source_type': 'volume',
                 'uuid': volume.id, 'destination_type': 'volume'}])
        self.cloud.only_hosts_in('cell1')
        self.accept_rebuild(server)
        self.wait_for('ACTIVE', server)
        ports = list(self.user.network.ports(device_id=server))
        self.assertEqual(1, len(ports))
        self.assertEqual(1, len(self.cloud.allocations(server)))
        self.delete_server(server)
        processes.poll(
            lambda: self.user.block_storage.get_volume(
                volume.id).status == 'available', 'that the volume was free')
        self.assertEqual([], list(self.user.network.ports(device_id=server)))
        self.assertEqual({}, self.cloud.allocations(server))
        self.assertEqual([], list(self.user.block_storage.attachments(
            volume_id=volume.id)))
