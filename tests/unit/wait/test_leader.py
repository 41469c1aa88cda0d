# SPDX-License-Identifier: Apache-2.0

import threading
import time

import fixtures
import testtools
import tooz

from cell0_rebuild.wait import leader


def patched(method, function):
    """Return a fixture in which a driver of tooz has another method."""
    return fixtures.MonkeyPatch(f'tooz.drivers.file.{method}', function)


def impatience():
    """Return a fixture in which nobody waits long for a silent backend.

    One that answers has all the time that it has outside of tests: a busy
    machine may need it.
    """
    return fixtures.MonkeyPatch('cell0_rebuild.wait.leader._PATIENCE', 0.1)


def fail(*args):
    raise tooz.ToozError('Not now.')


def cannot_tell(lock):
    raise tooz.NotImplemented


class LeaderTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # Who waits for a backend in vain fails.
        self.useFixture(fixtures.Timeout(60, gentle=True))
        self.url = f'file://{self.useFixture(fixtures.TempDir()).path}'
        self.now = 0
        self.first, self.second = (self.a_leader() for _ in range(2))

    def a_leader(self):
        """Return one that ends with the test."""
        one = leader.Leader(self.url, lambda: self.now)
        self.addCleanup(one.end)
        return one

    def lead(self):
        """Tell of both whether they lead."""
        return [self.first.leads(), self.second.leads()]

    def test_without_a_backend_all_lead(self):
        self.url = None
        self.assertTrue(all(self.a_leader().leads() for _ in range(2)))

    def test_the_driver_is_asked_each_half_minute(self):
        asked = []

        def is_still_owner(lock):
            asked.append(self.now)
            return True

        self.useFixture(patched('FileLock.is_still_owner', is_still_owner))
        for self.now in range(0, 100, 10):
            self.assertEqual([True, False], self.lead())
        self.assertEqual([30, 60, 90], asked)

    def test_a_leader_stands_by_when_another_has_its_lock(self):
        self.assertTrue(self.first.leads())

        def is_still_owner(lock):
            lock.release()
            self.assertTrue(self.second.leads())
            return False

        self.now = 30
        with patched('FileLock.is_still_owner', is_still_owner):
            self.assertFalse(self.first.leads())
        self.assertEqual([False, True], self.lead())
        self.second.end()
        self.assertEqual([True, False], self.lead())

    def test_a_leader_takes_its_lock_anew_when_nobody_has_it(self):
        self.assertTrue(self.first.leads())
        self.now = 30
        with patched('FileLock.is_still_owner', lambda lock: False):
            self.assertTrue(self.first.leads())
        self.assertEqual([True, False], self.lead())

    def test_a_driver_that_fails_once_costs_no_lead(self):
        self.assertTrue(self.first.leads())
        self.now = 30
        with patched('FileLock.is_still_owner', fail):
            self.assertEqual([True, False], self.lead())
        self.assertEqual([True, False], self.lead())

    def test_a_backend_that_is_away_costs_no_lead(self):
        self.useFixture(patched('FileLock.is_still_owner', cannot_tell))
        self.assertEqual([True, False], self.lead())
        self.now = 30
        with patched('FileDriver._start', fail):
            self.assertEqual([True, False], self.lead())
            self.assertRaises(tooz.ToozError, self.a_leader().leads)
        self.assertEqual([True, False], self.lead())

    def test_an_error_of_a_library_costs_no_lead(self):
        def fail_otherwise(driver):
            raise ZeroDivisionError('Not now.')

        self.useFixture(patched('FileLock.is_still_owner', cannot_tell))
        self.assertEqual([True, False], self.lead())
        self.now = 30
        with patched('FileDriver._start', fail_otherwise):
            self.assertEqual([True, False], self.lead())
            error = self.assertRaises(tooz.ToozError, self.a_leader().leads)
        self.assertIn('ZeroDivisionError: Not now.', str(error))
        self.assertEqual([True, False], self.lead())

    def test_a_silent_backend_is_waited_for_once_in_a_half_minute(self):
        answer, asked = threading.Event(), []
        self.addCleanup(answer.set)

        def is_still_owner(lock):
            asked.append(self.now)
            answer.wait()
            return True

        def seconds():
            begin = time.monotonic()
            self.assertTrue(self.first.leads())
            return time.monotonic() - begin

        self.useFixture(patched('FileLock.is_still_owner', is_still_owner))
        self.assertEqual([True, False], self.lead())
        self.now = 30
        wait = self.useFixture(fixtures.MockPatchObject(
            leader.futures, 'wait', wraps=leader.futures.wait)).mock
        with impatience():
            self.assertGreaterEqual(seconds(), 0.1)
            # Fifty that wait take five seconds.
            self.assertLess(sum(seconds() for _ in range(50)), 1)
            self.assertEqual(1, wait.call_count)
            self.now = 60
            self.assertGreaterEqual(seconds(), 0.1)
        self.assertEqual([30], asked)
        answer.set()
        for self.now in 90, 120:
            self.assertEqual([True, False], self.lead())
        self.assertEqual([30, 120], asked)

    def test_who_was_not_answered_for_long_asks_anew(self):
        answer = threading.Event()
        self.addCleanup(answer.set)
        with impatience():
            with patched('FileDriver._start', lambda driver: answer.wait()):
                self.assertRaises(tooz.ToozError, self.first.leads)
            self.now = 299
            self.assertRaises(tooz.ToozError, self.first.leads)
        self.now = 300
        self.assertTrue(self.first.leads())
        ended = self.useFixture(fixtures.MockPatchObject(
            leader._Connection, 'end', autospec=True)).mock
        answer.set()
        while not ended.called:
            time.sleep(0.01)
        self.assertEqual([True, False], self.lead())

    def test_who_stands_by_is_told_of_a_backend_that_is_silent(self):
        answer = threading.Event()
        self.addCleanup(answer.set)
        with impatience(), patched(
                'FileDriver._start', lambda driver: answer.wait()):
            for _ in range(2):
                self.assertRaises(tooz.ToozError, self.first.leads)
        answer.set()
        self.assertEqual([True, False], self.lead())

    def test_who_stands_by_connects_anew_after_an_error(self):
        self.assertEqual([True, False], self.lead())
        connection = self.second._connection
        self.assertFalse(connection.ended)
        with patched('FileLock.acquire', fail):
            self.assertRaises(tooz.ToozError, self.second.leads)
        self.first.end()
        self.assertTrue(self.second.leads())
        self.assertTrue(connection.ended)

    def test_it_says_when_it_leads_and_when_no_longer(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.lead()
        self.assertEqual('This service leads now.\n', log.output)
        self.now = 30
        with patched('FileLock.is_still_owner',
                     lambda lock: lock.release() and self.second.leads()
                     and False):
            self.first.leads()
        self.assertIn('This service leads no longer', log.output)

    def test_no_two_connections_are_of_the_same_member(self):
        self.assertNotEqual(leader._member(), leader._member())

    def test_it_ends_while_the_backend_is_away_and_tells_it_later(self):
        before, asked = set(threading.enumerate()), threading.Event()
        back = threading.Event()
        self.addCleanup(back.set)

        def heartbeat(driver):
            asked.set()
            return 10 if back.is_set() else fail()

        self.useFixture(patched('FileDriver.heartbeat', heartbeat))
        self.assertTrue(self.first.leads())
        asked.wait()
        with impatience():
            self.first.end()
        left = set(threading.enumerate()) - before
        self.assertTrue(self.second.leads())
        back.set()
        for thread in left:
            thread.join()
