# SPDX-License-Identifier: Apache-2.0

"""How the cloud finds its processes again, and only its own."""

import json
import os
import pathlib
import subprocess
import sys
import time

import fixtures
import testtools

from tests.integration import processes
from tools.cloud import daemons

SLEEP = [sys.executable, '-c', 'import time; time.sleep(60)']

# A parent that ends on SIGTERM, and a child that does not care.
FAMILY = [sys.executable, '-c', '''
import os, signal, time
if not os.fork():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "a").close()
time.sleep(60)
''']


class DaemonTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def start(self, command, name='one'):
        daemon = daemons.Daemon(self.folder, name)
        daemon.start(command, 'digest')
        self.addCleanup(daemon.stop, 0)
        return daemon

    def change_record(self, **changes):
        path = self.folder / 'run' / 'one.json'
        path.write_text(json.dumps({
            **json.loads(path.read_text()), **changes}))

    def test_a_daemon_is_found_again(self):
        self.start(SLEEP)
        [found] = daemons.Daemon.all(self.folder)
        self.assertTrue(found.running)
        self.assertEqual('digest', found.recorded['digest'])

    def test_a_daemon_that_was_killed_is_not_running(self):
        daemon = self.start(SLEEP)
        os.kill(daemon.recorded['pid'], 9)
        processes.poll(lambda: not daemon.running, 'its end', 10)

    def test_a_process_with_its_id_but_another_start_is_left_alone(self):
        self.start(SLEEP).stop()
        stranger = subprocess.Popen(SLEEP, start_new_session=True)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        # Times of start are known to a tick of the clock.
        time.sleep(2 / os.sysconf('SC_CLK_TCK'))
        daemon = self.start(SLEEP)
        pid = daemon.recorded['pid']
        self.addCleanup(os.kill, pid, 9)
        self.change_record(pid=stranger.pid)
        self.assertFalse(daemon.running)
        daemon.stop()
        self.assertIsNone(stranger.poll())

    def test_a_process_of_an_earlier_boot_is_left_alone(self):
        daemon = self.start(SLEEP)
        pid = daemon.recorded['pid']
        self.addCleanup(os.kill, pid, 9)
        self.change_record(boot='another')
        daemon.stop()
        self.assertIsNotNone(daemons.started(pid))

    def test_children_that_outlive_their_parent_are_ended(self):
        daemon = self.start(FAMILY)
        ready = self.folder / 'home' / 'one' / 'ready'
        processes.poll(ready.exists, 'that it was ready', 10)
        time.sleep(0.1)
        members = daemon.members()
        os.kill(daemon.recorded['pid'], 9)
        processes.poll(lambda: not daemon.running, 'its end', 10)
        daemon.stop()
        self.assertEqual(2, len(members))
        self.assertEqual(
            [None, None], [daemons.started(pid) for pid in members])

    def test_a_daemon_that_does_not_end_is_killed(self):
        daemon = self.start([
            'sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'])
        processes.poll(
            lambda: 'ready' in daemon.log.read_text(), 'its start', 10)
        daemon.stop(seconds=0.2)
        self.assertFalse(daemon.running)
        self.assertEqual([], daemons.Daemon.all(self.folder))

    def test_a_name_with_brackets_and_spaces_is_no_obstacle(self):
        program = self.folder / 'a) S 1 (b'
        program.symlink_to(sys.executable)
        daemon = self.start([program, *SLEEP[1:]])
        self.assertTrue(daemon.running)
