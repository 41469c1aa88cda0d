# SPDX-License-Identifier: Apache-2.0

import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait import broken_hosts
from tests.unit.wait import samples

MINUTE = datetime.timedelta(minutes=1)
HOUR = 60


class BrokenHostsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.hosts = broken_hosts.BrokenHosts()

    def allowed(self, minutes):
        return self.hosts.allowed(samples.NOON + minutes * MINUTE)

    def fail(self, *minutes):
        for minute in minutes:
            self.hosts.failed(samples.NOON + minute * MINUTE)

    def land(self, *minutes):
        for minute in minutes:
            self.hosts.landed(samples.NOON + minute * MINUTE)

    def test_each_server_that_lands_lets_more_go(self):
        found = [self.allowed(0)]
        for minute in range(3):
            self.land(minute)
            found.append(self.allowed(minute))
        self.assertEqual([2, 4, 8, 16], found)

    def test_the_number_does_not_grow_for_ever(self):
        self.land(*[0] * 99)
        self.assertEqual(1024, self.allowed(0))

    def test_two_builds_that_fail_in_a_row_stop_it(self):
        self.fail(0)
        self.assertEqual((1, False), (self.allowed(1), self.hosts.stopped))
        self.fail(2)
        self.assertEqual((0, True), (self.allowed(3), self.hosts.stopped))

    def test_a_server_that_lands_between_them_keeps_it_going(self):
        self.fail(0)
        self.land(1)
        self.fail(2)
        self.assertFalse(self.hosts.stopped)

    def test_one_is_tried_after_half_an_hour(self):
        self.fail(0, 1)
        self.assertEqual((0, 1), (self.allowed(30.9), self.allowed(31)))

    def test_one_that_fails_then_stops_it_for_as_long(self):
        self.fail(0, 1, 33)
        self.assertEqual((0, 1), (self.allowed(62.9), self.allowed(63)))

    def test_one_that_lands_then_lets_it_go_on(self):
        self.fail(0, 1)
        self.land(33)
        self.assertEqual((2, False), (self.allowed(33), self.hosts.stopped))

    def test_hosts_are_not_trusted_for_long(self):
        self.land(0, 1, 2)
        self.assertEqual((16, 2), (self.allowed(31), self.allowed(32)))

    def test_an_older_build_that_landed_does_not_undo_a_stop(self):
        self.fail(5, 6)
        self.land(4)
        self.assertEqual((0, True), (self.allowed(7), self.hosts.stopped))

    def test_an_older_build_that_failed_does_not_count_after_one_landed(self):
        self.land(5)
        self.fail(3, 4)
        self.assertEqual(4, self.allowed(6))

    def mended(self, minute):
        """An operator says that hosts are good since then."""
        self.hosts.mended(samples.NOON + minute * MINUTE)

    def test_it_goes_on_when_an_operator_says_so(self):
        self.land(0, 0, 0)
        self.fail(1, 2)
        self.mended(3)
        self.assertEqual((2, False), (self.allowed(3), self.hosts.stopped))

    def test_builds_that_fail_after_an_operators_word_stop_it_again(self):
        self.mended(3)
        self.fail(1, 2)
        self.assertEqual(2, self.allowed(3))
        self.fail(4)
        self.assertEqual(1, self.allowed(5))
        self.fail(5)
        self.assertEqual(0, self.allowed(6))
        self.mended(3)
        self.assertEqual(0, self.allowed(6))

    @hypothesis.given(st.lists(st.integers(1, 20), min_size=1, max_size=5))
    def test_a_broken_host_gets_at_most_three_of_twenty_in_an_hour(
            self, building):
        hosts, waiting, ends, sent = broken_hosts.BrokenHosts(), 20, [], []
        for minute in range(6 * HOUR):
            now = samples.NOON + minute * MINUTE
            while minute in ends:
                ends.remove(minute)
                hosts.failed(now)
            while waiting and len(ends) < hosts.allowed(now):
                waiting -= 1
                sent.append(minute)
                ends.append(minute + building[len(sent) % len(building)])
        self.assertGreater(len(sent), 5)
        for first in sent:
            self.assertLessEqual(
                sum(first <= then < first + HOUR for then in sent), 3)
