# SPDX-License-Identifier: Apache-2.0

"""Capacity that appears, wherever that is."""

import concurrent.futures

from tests.e2e import base
from tests.integration import processes
from tools.cloud import contents

_MANY = 50


class CapacityTestCase(base.CloudTestCase):

    def test_a_server_is_rebuilt_in_whichever_cell_has_a_host(self):
        first, second = self.bury(), self.bury()
        self.cloud.only_hosts_in('cell2')
        self.accept_rebuild(first)
        self.wait_for('ACTIVE', first)
        self.cloud.only_hosts_in('cell1')
        self.accept_rebuild(second)
        self.wait_for('ACTIVE', second)
        self.assertEqual(
            ['cell2', 'cell1'],
            [self.cloud.plan.computes[self.host_of(server)]
             for server in (first, second)])

    def test_without_a_host_it_is_buried_again(self):
        server = self.bury()
        self.accept_rebuild(server)
        self.wait_for('ERROR', server)
        self.assertIn('No valid host was found',
                      self.server(server).fault['message'])

    def test_fifty_servers_are_rebuilt_at_once(self):
        network = self.user.network.find_network(contents.NETWORK)
        self.create_server(
            networks=[{'uuid': network.id}], min_count=_MANY,
            max_count=_MANY)
        servers = [server.id for server in self.user.compute.servers()]
        self.assertEqual(_MANY, len(servers))
        self.addCleanup(self._delete, servers)
        self.wait_for('ERROR', *servers)
        self.cloud.only_hosts_in('cell1', 'cell2')
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.accept_rebuild, servers))
        self.wait_for('ACTIVE', *servers, seconds=300)
        addresses = {self.server(server).addresses[contents.NETWORK][0]['addr']
                     for server in servers}
        self.assertEqual(_MANY, len(addresses))

    def _delete(self, servers):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(self.user.compute.delete_server, servers))
        processes.poll(
            lambda: not list(self.user.compute.servers(details=False)),
            'that all servers were deleted')
