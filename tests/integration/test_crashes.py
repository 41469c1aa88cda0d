# SPDX-License-Identifier: Apache-2.0

"""What becomes of rebuilds when processes stop, die or cannot be reached."""

import concurrent.futures
import signal
import time

from tests.integration import base
from tests.integration import cloud as clouds
from tests.integration import crashes_base
from tests.integration import dump
from tests.integration import settings

setUpModule = base.shared_cloud_for_burials


class StoppedConductorTest(crashes_base.CrashTestCase):

    def test_it_ends_the_rebuild_it_has_before_it_stops(self):
        with self.rebuild_in_progress('one') as server:
            process = self.cloud.stop_conductor('one')
            process.wait_until(
                lambda: not self.cloud.broker.has_consumer(clouds.TOPIC),
                'the end of its consumer')
            # It waits for the scheduler, and so does not end.
            self.assertFalse(process.ended)
            self.assert_shown_once(server, 'BUILD')
        self.assertEqual(0, process.code(30))
        self.assert_handed_over(server)

    def test_told_to_read_its_configuration_again_it_loses_nothing(self):
        with self.rebuild_in_progress('one') as server:
            conductor = self.cloud.conductor('one')
            conductor.signal(signal.SIGHUP)
            conductor.wait_until(
                lambda: not self.cloud.broker.has_consumer(clouds.TOPIC),
                'the end of its consumer')
        conductor.wait_until(
            lambda: self.cloud.broker.has_consumer(clouds.TOPIC),
            'a new worker')
        self.assert_handed_over(server)
        later = self.buried()
        self.do.rebuild(later)
        self.do.wait_for('ACTIVE', later)

    def assert_handed_over(self, server):
        """Check that the conductor has nothing more to do for a server.

        The compute may, for Nova may lose a call of it to a conductor that
        stops.
        """
        found = self.cloud.dump().mentions(server)
        self.assertEqual(1, found['cell1', 'instances'])
        self.assertEqual([], [key for key in found if key[0] == 'cell0'])
        self.assertNotIn(('api', 'build_requests'), found)


class KilledConductorTest(crashes_base.CrashTestCase):

    def test_of_a_message_it_did_not_take_nothing_is_left(self):
        server = self.buried()
        self.cloud.conductors(dying=['dying'])
        before = self.cloud.dump()
        answer = self.cloud.api.rebuild(server)
        self.cloud.conductor('dying').wait_until(
            lambda: self.cloud.conductor('dying').ended, 'its death')
        self.assert_refused(
            answer, 'could not be handed to a nova-conductor')
        self.assert_nothing_changed(before, dump.UNDONE)

    def test_a_sibling_gets_what_it_had_received(self):
        self.cloud.conductors(enabled=['one', 'two'])
        # The broker takes turns: of two calls for each, one has the ping and
        # one the server.
        for _ in range(2):
            self.cloud.conductors(enabled=['one', 'two'])
            server = self.buried()
            self.cloud.conductor('one').signal_all(signal.SIGSTOP)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                request = pool.submit(self.cloud.api.rebuild, server)
                time.sleep(2)
                self.cloud.kill_conductor('one')
            answer = request.result()
            self.assertEqual(202, answer.status_code, answer.text)
            self.do.wait_for('ACTIVE', server)
            self.assert_rebuilt_by('two', server)

    def test_a_server_it_had_taken_is_shown_once_and_can_be_recovered(self):
        server = self.cut_short('one')
        self.assert_shown_once(server, 'BUILD')
        code, output = self.cloud.command(
            'manage', 'recover', '--older-than', '0')
        self.assertEqual(0, code, output)
        self.assertRegex(output, f'{server} .* bury again .* mended')
        self.assert_shown_once(server, 'ERROR')
        self.assertEqual({}, self.cloud.allocations(server))
        self.cloud.conductors(enabled=['one'])
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)

    def test_a_server_it_had_taken_can_be_deleted(self):
        server = self.cut_short('one')
        self.cloud.api.delete(f'/servers/{server}')
        self.assertEqual(404, self.cloud.api.ask(
            'GET', f'/servers/{server}').status_code)
        code, output = self.cloud.command(
            'manage', 'recover', '--older-than', '0')
        self.assertEqual(0, code, output)
        self.assertEqual({}, {
            key: count for key, count
            in self.cloud.dump().mentions(server).items()
            if key[1] == 'build_requests'})


class ReloadedApiTest(crashes_base.CrashTestCase):

    def test_told_to_reload_it_first_answers_what_it_was_asked(self):
        self.cloud.conductors(enabled=['one'])
        server = self.buried()
        with self.cloud.another_api(
                'reloaded', settings.ENABLED) as (process, api):
            with concurrent.futures.ThreadPoolExecutor(1) as pool, (
                    self.cloud.paused_conductor('one')):
                request = pool.submit(api.rebuild, server)
                time.sleep(1)
                process.signal(signal.SIGHUP)
                process.wait_for_line('gracefully killing workers')
            answer = request.result()
            self.assertEqual(202, answer.status_code, answer.text)
            self.do.wait_for('ACTIVE', server)
            process.wait_until(
                lambda: process.output.count('WSGI app 0') == 2,
                'the start of another worker')
            later = self.buried()
            answer = api.rebuild(later)
            self.assertEqual(202, answer.status_code, answer.text)
            self.do.wait_for('ACTIVE', later)


class BrokerTest(crashes_base.CrashTestCase):

    def test_a_restart_in_the_middle_of_a_rebuild_loses_no_server(self):
        with self.rebuild_in_progress('one') as server:
            self.cloud.broker.stop()
            self.cloud.broker.start_again()
        self.do.wait_for('ERROR', server)
        self.assert_shown_once(server, 'ERROR')
        self.cloud.wait_for_conductor('one')
        self.do.rebuild_at_last(server)
        self.do.wait_for('ACTIVE', server)

    def test_without_it_rebuilds_are_refused_soon_and_served_later(self):
        self.cloud.conductors(enabled=['one'])
        servers = [self.buried() for _ in range(3)]
        self.assertEqual(
            202, self.cloud.api.rebuild(servers[0]).status_code)
        self.do.wait_for('ACTIVE', servers[0])
        with self.cloud.another_api('fresh', settings.ENABLED) as (_, fresh):
            self.cloud.broker.stop()
            try:
                before = self.cloud.dump()
                # One has a connection that broke, the other never had one.
                for api in (self.cloud.api, fresh):
                    self.assert_refused_soon(api, servers[1])
                self.assert_nothing_changed(before)
                code, output = self.cloud.command(
                    'status', 'upgrade', 'check')
                self.assertEqual(1, code, output)
                self.assertIn('No nova-conductor with cell0-rebuild', output)
            finally:
                self.cloud.broker.start_again()
            self.cloud.wait_for_conductor('one')
            for api, server in zip(
                    (self.cloud.api, fresh), servers[1:], strict=True):
                self.do.rebuild_at_last(server, api)
                self.do.wait_for('ACTIVE', server)

    def assert_refused_soon(self, api, server):
        """Check that rebuilds are refused, within fifteen seconds.

        They come at once, so that more than one connection is wanted.
        """
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answers = list(pool.map(api.rebuild, [server] * 3))
        self.assertLess(time.monotonic() - began, 15)
        for answer in answers:
            self.assert_refused(
                answer,
                'no nova-conductor that can rebuild it from there answers')
