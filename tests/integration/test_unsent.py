# SPDX-License-Identifier: Apache-2.0

"""Creates that fail before a compute is told of them, on real databases."""

from tests.integration import base
from tests.integration import processes
from tests.integration import standins

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = base.shared_cloud()


class UnsentTest(base.CloudTestCase):

    def test_servers_over_quota_are_buried_and_rebuilt(self):
        CLOUD.add_conductor('strict', {
            'cell0_rebuild': {'rebuild': 'never_launched'},
            'quota': {'instances': 0}})
        CLOUD.add_host('host')
        CLOUD.api.post('/servers', {'server': {
            'name': 'over', 'flavorRef': 'small', 'networks': 'none',
            'imageRef': standins.IMAGE, 'min_count': 2}})
        servers = [server['id'] for server in
                   CLOUD.api.get('/servers')['servers']]
        self.assertEqual(2, len(servers))
        self.do.wait_for('ERROR', *servers)
        for server in servers:
            self.assert_buried(server)
        CLOUD.conductors(enabled=['one'])
        for server in servers:
            self.do.rebuild(server)
        self.do.wait_for('ACTIVE', *servers)
        for server in servers:
            self.assertEqual(1, len(CLOUD.allocations(server)))

    def assert_buried(self, server):
        """Check that a server is in cell0, and nowhere else."""
        self.assertIn('Quota exceeded', CLOUD.api.server(
            server)['fault']['message'])
        self.assert_shown_once(server, 'ERROR')
        # Its claim goes when it can be seen already.
        processes.poll(lambda: not CLOUD.allocations(server),
                       'that the claim goes')
        self.assertEqual({'api', 'cell0'}, {
            database for database, _ in CLOUD.dump().mentions(server)})
