# SPDX-License-Identifier: Apache-2.0

"""The story as the user of the command line sees it."""

from tests.e2e import base
from tests.e2e import clouds
from tools.cloud import contents

_REBUILD = ('--os-compute-api-version', clouds.ADDED, 'server', 'rebuild')


class StoryTestCase(base.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.remove_hosts()
        self.ask, self.run_client = self.cloud.ask, self.cloud.run
        self.port = self.create_port()
        self.volume = self.create_volume()
        self.name = self.unique('story')

    def test_the_same_server_becomes_active(self):
        server = self._fail_to_create()
        self._be_refused_by_a_stock_microversion()
        self.cloud.add_host('new-host', 'cell1')
        self.run_client(*_REBUILD, '--wait', self.name)
        found = self.ask('server', 'show', self.name)
        self.assertEqual('ACTIVE', found['status'])
        self.assertEqual(server['id'], found['id'])
        self.assertEqual({'kept': 'yes'}, found['properties'])
        self.assertEqual(['red'], found['tags'])
        self.assertEqual(
            {contents.NETWORK: [self.port.fixed_ips[0]['ip_address']]},
            found['addresses'])
        self.assertEqual(
            [self.volume.id], [one['id'] for one in found['volumes_attached']])
        self._check_port(server['id'])
        self._check_volume(server['id'])
        self._check_history()

    def _fail_to_create(self):
        self.assertRaises(
            clouds.CommandFailed, self.run_client,
            '--os-compute-api-version', '2.104', 'server', 'create',
            '--flavor', 'tiny', '--image', contents.IMAGE, '--port',
            self.port.id, '--block-device',
            f'uuid={self.volume.id},source_type=volume,'
            f'destination_type=volume', '--property', 'kept=yes', '--tag',
            'red', '--wait', self.name)
        found = self.ask('server', 'show', self.name)
        self.addCleanup(self.delete_server, found['id'])
        self.assertEqual('ERROR', found['status'])
        self.assertIn('No valid host was found', str(found['fault']))
        return found

    def _be_refused_by_a_stock_microversion(self):
        error = self.assertRaises(
            clouds.CommandFailed, self.run_client,
            '--os-compute-api-version', '2.104', 'server', 'rebuild',
            self.name)
        self.assertIn('409', str(error))

    def _check_port(self, server):
        port = self.cloud.operator.network.get_port(self.port.id)
        self.assertEqual(
            (server, 'ACTIVE', 'new-host', 'ovs'),
            (port.device_id, port.status, port.binding_host_id,
             port.binding_vif_type))

    def _check_volume(self, server):
        volume = self.user.block_storage.get_volume(self.volume.id)
        self.assertEqual(
            ('in-use', [server]),
            (volume.status, [one['server_id'] for one in volume.attachments]))

    def _check_history(self):
        events = self.ask('server', 'event', 'list', self.name)
        self.assertEqual(['rebuild', 'create'],
                         [event['Action'] for event in events])
        results = [
            event['result'] for action in events for event in self.ask(
                'server', 'event', 'show', self.name,
                action['Request ID'])['events']]
        self.assertIn('Error', results)
        self.assertIn('Success', results)
