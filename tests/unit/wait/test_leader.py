# SPDX-License-Identifier: Apache-2.0

import threading

import fixtures
import testtools
import tooz

from cell0_rebuild.wait import leader


class LeaderTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # Who waits for a backend in vain fails.
        self.useFixture(fixtures.Timeout(60, gentle=True))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.leader._PATIENCE', 0.1))
        self.url = f'file://{self.useFixture(fixtures.TempDir()).path}'

    def a_leader(self):
        """Return one that ends with the test."""
        one = leader.Leader(self.url)
        self.addCleanup(one.end)
        return one

    def test_it_ends_while_the_backend_is_away_and_tells_it_later(self):
        before, asked = set(threading.enumerate()), threading.Event()
        back = threading.Event()
        self.addCleanup(back.set)

        def heartbeat(driver):
            asked.set()
            if back.is_set():
                return 10
            raise tooz.ToozError('Not now.')

        self.useFixture(fixtures.MonkeyPatch(
            'tooz.drivers.file.FileDriver.heartbeat', heartbeat))
        one = self.a_leader()
        self.assertTrue(one.leads())
        asked.wait()
        one.end()
        left = set(threading.enumerate()) - before
        self.assertTrue(self.a_leader().leads())
        back.set()
        for thread in left:
            thread.join()
