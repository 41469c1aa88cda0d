# SPDX-License-Identifier: Apache-2.0

"""Servers that wait come back by themselves, on real processes."""

import contextlib
import re
import signal
import time

import fixtures
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
        self.addCleanup(self.delete, server)
        self.do.wait_for(status, server)
        return server

    def first(self, servers):
        """Return the one that was created first; Nova has whole seconds."""
        return min(servers, key=lambda server: (
            self.cloud.api.server(server)['created'], server))

    @contextlib.contextmanager
    def full(self):
        """Have a server wait; at the end there is room for it.

        It is one that the host had no room for.
        """
        running = self.create('ACTIVE')
        yield self.create('ERROR', cell0_rebuild_wait='2h')
        self.delete(running)

    def service(self, **options):
        """Start a service that ends with the test, and return its process."""
        process = self.cloud.start_waiting_service(**options)
        self.addCleanup(process.kill)
        return process

    def sweep(self, mode):
        """Sweep once, as cron does, and return what was printed."""
        process = self.cloud.start_waiting_service(mode)
        self.assertEqual(0, process.code(), process.output)
        return process.output

    def sweep_more(self, service):
        """Wait while a service sweeps; it pauses for 2 s."""
        time.sleep(8)
        self.assertFalse(service.ended)

    def assert_asked_once(self, service):
        """Check that a service has sent one request for a rebuild."""
        self.assertEqual(1, service.output.count('Rebuild '), service.output)

    def delete(self, server):
        """Delete a server, if it is there, and wait until it is gone."""
        path = f'/servers/{server}'
        self.cloud.api.ask('DELETE', path)
        processes.poll(lambda: self.cloud.api.ask(
            'GET', path).status_code == 404, f'the end of {server}')

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
        services = [self.service() for _ in range(2)]
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

    def test_a_dry_run_names_who_would_be_rebuilt(self):
        with self.full() as waiting:
            self.assertIn('1 wait: capacity', self.sweep('--dry-run'))
        self.assertIn(f'{waiting} would be rebuilt.', self.sweep('--dry-run'))
        self.do.wait_for('ERROR', waiting)
        self.assertEqual([], self.told(waiting))

    def test_one_sweep_rebuilds_who_waits(self):
        with self.full() as waiting:
            self.assertNotIn('Rebuild', self.sweep('--once'))
        self.assertIn('Rebuild accepted.', self.sweep('--once'))
        self.do.wait_for('ACTIVE', waiting)

    def test_a_scheduler_that_is_silent_is_waited_for(self):
        with self.full() as waiting:
            service = self.service()
        with self.cloud.paused_scheduler():
            self.do.wait_for('BUILD', waiting)
            self.sweep_more(service)
        self.do.wait_for('ACTIVE', waiting)
        self.assert_asked_once(service)

    def test_a_conductor_that_is_silent_is_waited_for(self):
        with self.full() as waiting:
            service = self.service()
        with contextlib.ExitStack() as silence:
            with self.cloud.paused_scheduler() as wait_until_asked:
                # Until it has answered, nova-api takes the server back.
                wait_until_asked()
                silence.enter_context(self.cloud.paused_conductor('one'))
            self.sweep_more(service)
            self.assertEqual('BUILD', self.cloud.api.server(waiting)['status'])
        self.do.wait_for('ACTIVE', waiting)
        self.assert_asked_once(service)

    def test_a_server_that_is_recovered_comes_back(self):
        with self.full() as waiting:
            self.service(backoff='1s')
        with self.cloud.paused_scheduler() as wait_until_asked:
            wait_until_asked()
            self.cloud.kill_conductor('one')
        self.cloud.conductors(enabled=['one'])
        code, output = self.cloud.command(
            'manage', 'recover', '--older-than', '0')
        self.assertEqual(0, code, output)
        self.do.wait_for('ACTIVE', waiting)

    def test_another_service_leads_when_one_is_killed(self):
        backend = {'backend_url':
                   f'file://{self.useFixture(fixtures.TempDir()).path}'}
        with self.full() as waiting:
            leader = self.service(**backend)
            processes.poll(lambda: self.told(waiting), 'that it leads')
            standby = self.service(**backend)
            standby.wait_for_line('Waiting for capacity')
            leader.kill()
        self.do.wait_for('ACTIVE', waiting)
        self.assert_asked_once(standby)

    def test_prometheus_reads_of_sweeps(self):
        [port] = processes.free_ports(1)
        process = self.service(metrics=f'127.0.0.1:{port}')
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
