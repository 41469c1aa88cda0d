# SPDX-License-Identifier: Apache-2.0

"""The service sweeps again and again, whatever is away."""

import os
import re
import signal
import socket
import threading
from unittest import mock

import fixtures
from keystoneauth1 import exceptions as ks_exc
import requests

from cell0_rebuild.wait.effects import rebuilds
from cell0_rebuild.wait import factory
from cell0_rebuild.wait import leader
from cell0_rebuild.wait import service
from cell0_rebuild.wait import sweep
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import keystone
from tests.functional.wait import sweeping
from tests import releases


def free_port():
    """Return a port on which nobody listens."""
    with socket.socket() as listening:
        listening.bind(('127.0.0.1', 0))
        return listening.getsockname()[1]


class ServiceTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(sweeping.Haste())
        self.service = service.WaitingService(factory.sweeper)
        self.addCleanup(self.service.stop)
        self.log = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))

    def said(self, needle):
        """Return how often something was logged."""
        return self.log.output.count(needle)

    def wait_until_said(self, needle):
        self._wait_for_assert(lambda: self.assertIn(needle, self.log.output))

    def test_nobody_types_a_thing_and_the_server_comes_back(self):
        running = self.created()
        self.reserve_vcpus('host1', 9)
        server, later = (self.wait_for_room() for _ in range(2))
        self.service.start()
        self._wait_for_assert(lambda: self.assertEqual(
            1, len(self.told(later))))
        self.assertEqual([], self.asked())
        self._delete_server(running)
        self.assertEqual(server['id'], self.active(server)['id'])
        self.service.stop()
        self.assertEqual([server['id']], self.asked())

    def interrupt(self, function):
        """Call a function, and have a signal raise an error in it."""
        def heard(*args):
            raise InterruptedError
        self.addCleanup(
            signal.signal, signal.SIGUSR1, signal.signal(
                signal.SIGUSR1, heard))
        timer = threading.Timer(
            0.2, os.kill, [os.getpid(), signal.SIGUSR1])
        timer.start()
        self.assertRaises(InterruptedError, function)

    # Under eventlet, any thread may hear the signal.
    @releases.needs('server_threads')
    def test_it_stops_after_its_sweep_though_a_signal_came_before(self):
        self.fill()
        self.wait_for_room()
        asked, answer = threading.Event(), threading.Event()

        def late(*args, **kwargs):
            asked.set()
            answer.wait()
            raise ks_exc.ConnectFailure
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.client.report.SchedulerReportClient.get', late))
        self.service.start()
        asked.wait()
        self.interrupt(self.service.wait)
        threading.Timer(0.2, answer.set).start()
        self.service.stop()
        self.assertEqual(1, self.said('Stopped.'))

    def test_an_outage_is_said_once_and_ends_nothing(self):
        self.fill()
        server = self.wait_for_room()
        self.make_room()
        self.keystone.down = True
        self.service.start()
        self.wait_until_said('NoApi')
        self._wait_for_assert(lambda: self.assertGreater(
            self.keystone.refused, 3))
        self.assertEqual(1, self.said('Nothing is rebuilt until'))
        self.keystone.down = False
        self.active(server)
        self.wait_until_said('What did not answer does so again.')

    def test_placement_that_is_away_ends_nothing_and_is_said_once(self):
        self.fill()
        server = self.wait_for_room()
        self.make_room()
        tries = []

        def away(*args, **kwargs):
            tries.append(args)
            raise ks_exc.ConnectFailure(
                f'{object()} (Request-ID: req-{len(tries)})')
        with fixtures.MonkeyPatch(
                'nova.scheduler.client.report.SchedulerReportClient.get',
                away):
            self.service.start()
            self._wait_for_assert(lambda: self.assertGreater(len(tries), 3))
            self.assertEqual(1, self.said('Nothing is rebuilt until'))
            self.assertEqual(1, self.said('NoPlacement'))
        self.active(server)

    def test_a_mistake_is_said_once_with_a_traceback_and_ends_nothing(self):
        self.fill()
        server = self.wait_for_room()
        self.make_room()
        tries = []

        def fail(*args):
            tries.append(args)
            raise ZeroDivisionError(f'a mistake {len(tries)}')
        with fixtures.MonkeyPatch(
                base.name_of(sweep.Sweeper.sweep), fail):
            self.service.start()
            self._wait_for_assert(lambda: self.assertGreater(len(tries), 3))
            self.assertEqual(1, self.said('A sweep has failed'))
            self.assertEqual(1, self.said('Traceback'))
        self.active(server)

    def test_a_log_that_fails_ends_nothing(self):
        self.fill()
        server = self.wait_for_room()
        self.make_room()
        self.keystone.down = True
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.decision.pacing.LONGEST', 0.05))
        with mock.patch('cell0_rebuild.wait.service._log_outage',
                        autospec=True,
                        side_effect=OSError('The disk is full.')):
            self.service.start()
            self.wait_until_said('The outage could not be told.')
            self._wait_for_assert(lambda: self.assertGreater(
                self.said('The outage could not be told.'), 2))
            self.assertEqual(0, self.said('What did not answer does so'))
        self.keystone.down = False
        self.active(server)

    def test_it_sweeps_sooner_only_while_servers_come_back(self):
        moving = []

        def interval(asks_in, come_back, has_room):
            moving.append(come_back)
            return 0.05
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.decision.pacing.interval', interval))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.service._MOVING', 0.5))
        self.fill()
        server = self.wait_for_room()
        self.service.start()
        self._wait_for_assert(lambda: self.assertGreater(len(moving), 2))
        self.assertEqual({False}, set(moving))
        self.make_room()
        self.active(server)
        self._wait_for_assert(lambda: self.assertIn(True, moving))
        self._wait_for_assert(lambda: self.assertFalse(moving[-1]))

    def test_one_warning_is_enough_for_what_is_wrong_with_many(self):
        self.fill()
        servers = [self.wait_for_room({'cell0_rebuild_wait': 'perhaps'})
                   for _ in range(3)]
        self.service.start()
        self.wait_until_said('The same is true of 2 more.')
        for server in servers:
            self._delete_server(server)
        self._wait_for_assert(
            lambda: self.assertEqual(
                set(), self.service._logged.problems))
        self.assertEqual(1, self.said('perhaps'))

    def test_a_database_that_is_away_ends_nothing(self):
        self.fill()
        server = self.wait_for_room()
        with databases.down('cell0'):
            self.service.start()
            self.wait_until_said('Nothing is rebuilt until')
        self.make_room()
        self.active(server)

    def test_a_project_without_the_role_is_said_once(self):
        self.fill()
        self.wait_for_room()
        self.make_room()
        self.keystone.projects = []
        self.flags(backoff='1s', group=keystone.GROUP)
        self.service.start()
        self.wait_until_said('has no role in project')
        self._wait_for_assert(lambda: self.assertGreater(
            self.keystone.refused, 1))
        self.assertEqual(1, self.said('has no role in project'))


    def test_prometheus_reads_what_it_does(self):
        port = free_port()
        self.flags(metrics=f'127.0.0.1:{port}', group=keystone.GROUP)
        self.fill()
        for _ in range(2):
            self.wait_for_room()
        self.service.check_metrics()
        self.service.start()
        url = f'http://127.0.0.1:{port}/metrics'
        self._wait_for_assert(lambda: self.assertIn(
            'cell0_rebuild_wait_servers{reason="capacity"} 2.0',
            requests.get(url, timeout=10).text))
        self.make_room()
        self._wait_for_assert(lambda: self.assertIn(
            'cell0_rebuild_wait_rebuilds_total{result="landed"} 1.0',
            requests.get(url, timeout=10).text))
        self.wait_until_said('The server is ACTIVE.')
        text = requests.get(url, timeout=10).text
        for needle in ('shapes 1.0', 'projects_without_role 0.0'):
            self.assertIn(f'cell0_rebuild_wait_{needle}', text)
        for name in ('oldest_seconds', 'probes_total', 'probe_seconds_total'):
            [value] = re.findall(f'^cell0_rebuild_wait_{name} (.*)$', text,
                                 re.MULTILINE)
            self.assertGreater(float(value), 0, name)
        self.assertIn(
            'cell0_rebuild_wait_requests_total{answer="accepted"} 1.0', text)
        self.assertIn('cell0_rebuild_wait_placed_seconds_count 1.0', text)

    def test_a_port_that_was_taken_meanwhile_ends_nothing(self):
        port = free_port()
        self.flags(metrics=f'127.0.0.1:{port}', group=keystone.GROUP)
        self.service.check_metrics()
        with socket.create_server(('127.0.0.1', port)):
            self.service.start()
        self.assertEqual(1, self.said('Metrics cannot be served: '))
        self.wait_until_said('Waiting for capacity')

    def test_metrics_that_cannot_be_served_are_a_wrong_option(self):
        with socket.create_server(('127.0.0.1', 0)) as listening:
            port = listening.getsockname()[1]
            self.flags(metrics=f'127.0.0.1:{port}', group=keystone.GROUP)
            error = self.assertRaises(
                rebuilds.WrongOptions, self.service.check_metrics)
        self.assertIn('[cell0_rebuild_wait] metrics', str(error))

    def test_a_backend_that_tooz_does_not_know_is_a_wrong_option(self):
        self.flags(backend_url='unknown://:secret@x', group=keystone.GROUP)
        error = self.assertRaises(
            rebuilds.WrongOptions, self.service.check_backend)
        self.assertIn('[cell0_rebuild_wait] backend_url', str(error))
        self.assertNotIn('secret', str(error))

    def test_each_error_of_an_outage_is_said(self):
        self.fill()
        self.wait_for_room()
        self.make_room()
        self.keystone.down = True
        self.service.start()
        self.wait_until_said('NoApi')
        self.keystone.password, self.keystone.down = 'changed', False
        self.wait_until_said('the user or the password')

    def test_what_a_sweep_did_is_said_although_it_was_broken_off(self):
        self.fill()
        self.wait_for_room()
        self.make_room()
        self.keystone.answers.append(keystone.refusal(503, 'Not now.'))
        self.service.start()
        self.wait_until_said('Rebuild away: Not now.')


class LeaderTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.url = f'file://{folder}'
        self.leaders = [leader.Leader(self.url) for _ in range(2)]
        for one in self.leaders:
            self.addCleanup(one.end)

    def test_a_service_takes_over_from_one_that_ends(self):
        self.useFixture(sweeping.Haste())
        self.flags(backend_url=self.url, group=keystone.GROUP)
        makers = [mock.Mock(side_effect=factory.sweeper) for _ in range(2)]
        services = [service.WaitingService(make) for make in makers]
        self.fill()
        servers = [self.wait_for_room() for _ in range(2)]
        for one in services:
            self.addCleanup(one.stop)
            one.start()
            self._wait_for_assert(lambda: self.assertTrue(makers[0].called))
        self.make_room()
        self.active(servers[0])
        self.assertFalse(makers[1].called)
        services[0].stop()
        self.make_room(2)
        self.active(servers[1])
        self.assertTrue(makers[1].called)

    def test_a_service_that_lost_its_lead_shows_zeros(self):
        self.hurry()
        port = free_port()
        self.flags(backend_url=self.url, metrics=f'127.0.0.1:{port}',
                   group=keystone.GROUP)
        self.fill()
        self.wait_for_room()
        one = service.WaitingService(factory.sweeper)
        self.addCleanup(one.stop)
        one.check_metrics()
        one.start()
        self.wait_until_shown(port, '1.0')
        self.useFixture(fixtures.MonkeyPatch(
            'tooz.drivers.file.FileLock.is_still_owner',
            self.lose_to(self.leaders[0])))
        self.wait_until_shown(port, '0.0')

    def test_who_leads_again_remembers_nothing(self):
        self.hurry()
        self.flags(backend_url=self.url, group=keystone.GROUP)
        make = mock.Mock(side_effect=factory.sweeper)
        one = service.WaitingService(make)
        self.addCleanup(one.stop)
        one.start()
        self._wait_for_assert(make.assert_called_once)
        log = self.useFixture(fixtures.FakeLogger())
        with fixtures.MonkeyPatch(
                'tooz.drivers.file.FileLock.is_still_owner',
                self.lose_to(self.leaders[0])):
            self._wait_for_assert(lambda: self.assertIn(
                'This service leads no longer', log.output))
        make.assert_called_once()
        self.leaders[0].end()
        self._wait_for_assert(lambda: self.assertEqual(2, make.call_count))

    def hurry(self):
        """Sweep at once, and ask at each sweep who leads."""
        self.useFixture(sweeping.Haste())
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.leader._SURE', 0))

    def lose_to(self, other):
        """Return a method of a lock by which another one takes it."""
        def is_still_owner(lock):
            lock.release()
            other.leads()
            return False
        return is_still_owner

    def wait_until_shown(self, port, count):
        """Wait until a service shows as many shapes, and servers for room."""
        self._wait_for_assert(lambda: self.assertEqual([count] * 2, re.findall(
            '(?m)^cell0_rebuild_wait_(?:servers{reason="capacity"}|shapes) '
            '(.*)$', requests.get(
                f'http://127.0.0.1:{port}/metrics', timeout=10).text)))
