# SPDX-License-Identifier: Apache-2.0

"""Servers that wait come back by themselves, on real processes."""

import re
import signal

import requests

from tests.integration import base
from tests.integration import processes
from tests.integration import standins

CLOUD = None

# One server fits.
_SMALL = {'DEFAULT': {'reserved_host_cpus': '9',
                      'cpu_allocation_ratio': '1.0'}}


def setUpModule():
    global CLOUD
    CLOUD = base.shared_cloud()
    CLOUD.conductors(enabled=['one'])
    CLOUD.add_host('host', _SMALL)


class WaitingTest(base.CloudTestCase):

    def create(self, status, **metadata):
        """Create a server and return its ID."""
        server = self.cloud.api.post('/servers', {'server': {
            'name': 'server', 'flavorRef': 'small', 'metadata': metadata,
            'imageRef': standins.IMAGE, 'networks': 'none',
        }})['server']['id']
        self.do.wait_for(status, server)
        return server

    def first(self, servers):
        """Return the one that was created first; Nova has whole seconds."""
        return min(servers, key=lambda server: (
            self.cloud.api.server(server)['created'], server))

    def told(self, server):
        """Return why a server waits."""
        return [action['message'] for action in self.cloud.api.get(
            f'/servers/{server}/os-instance-actions')['instanceActions']
            if action['action'] == 'wait']

    def test_nobody_types_a_thing_and_the_server_comes_back(self):
        running = self.create('ACTIVE')
        wish = {'cell0_rebuild_wait': '2h'}
        silent = self.create('ERROR')
        waiting = [self.create('ERROR', **wish) for _ in range(2)]
        services = [self.cloud.start_waiting_service() for _ in range(2)]
        processes.poll(lambda: all(map(self.told, waiting)),
                       'that owners were told')
        self.assertIn('No host has 1 VCPU free', self.told(waiting[0])[0])
        self.cloud.api.delete(f'/servers/{running}')

        def active():
            return [server for server in waiting
                    if self.cloud.api.server(server)['status'] == 'ACTIVE']

        [placed] = processes.poll(active, 'that one came back', 90)
        self.assertEqual(self.first(waiting), placed)
        self.assertEqual('host', self.cloud.api.server(placed)[
            'OS-EXT-SRV-ATTR:host'])
        [left] = set(waiting) - {placed}
        # The other service may have seen the same room, and tried it.
        self.do.wait_for('ERROR', left, silent)
        for process in services:
            process.signal(signal.SIGTERM)
            process.finish()

    def test_prometheus_reads_of_sweeps(self):
        [port] = processes.free_ports(1)
        process = self.cloud.start_waiting_service(
            metrics=f'127.0.0.1:{port}')
        processes.poll(lambda: processes.listens(port), 'that it listened')

        def sweeps():
            [count] = re.findall(
                r'(?m)^cell0_rebuild_wait_sweep_seconds_count (.*)$',
                requests.get(f'http://127.0.0.1:{port}/metrics',
                             timeout=10).text)
            return float(count)

        processes.poll(sweeps, 'that a sweep was counted')
        process.signal(signal.SIGTERM)
        process.finish()
