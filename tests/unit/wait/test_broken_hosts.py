# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.memory import broken_hosts
from cell0_rebuild.wait import values
from tests.unit.wait import samples

MINUTE = datetime.timedelta(minutes=1)
HOUR = 60


class BrokenHostsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.builds = []

    @property
    def hosts(self):
        return broken_hosts.BrokenHosts(self.builds)

    def allowed(self, minutes):
        return self.hosts.allowed(samples.NOON + minutes * MINUTE)

    def allowed_of(self, project_id, minutes):
        return self.hosts.allowed_of(
            project_id, samples.NOON + minutes * MINUTE)

    def end(self, state, minutes, project, hosts):
        for minute in minutes:
            self.builds.append(values.Build(
                f'{len(self.builds):04}', project, state,
                samples.NOON + minute * MINUTE, frozenset(hosts)))

    def fail(self, *minutes, project='a', hosts=('host',)):
        self.end(values.State.FAILED_ON_HOST, minutes, project, hosts)

    def land(self, *minutes, project='a', hosts=('host',)):
        self.end(values.State.LANDED, minutes, project, hosts)

    def fail_for_two(self):
        """Have a host break builds of two projects."""
        self.fail(0)
        self.fail(1, project='b')

    def test_each_server_that_lands_lets_more_go(self):
        found = [self.allowed(0)]
        for minute in range(3):
            self.land(minute)
            found.append(self.allowed(minute))
        self.assertEqual([2, 4, 8, 16], found)

    def test_those_that_landed_a_while_ago_let_as_many_go(self):
        known = broken_hosts.Builds()
        self.land(0, 0, 0)
        later = samples.NOON + 10 * MINUTE
        for builds, now in ((self.builds, samples.NOON), ([], later)):
            known.learn(builds, now)
        self.assertEqual(16, known.hosts.allowed(later))

    def test_the_number_does_not_grow_for_ever(self):
        self.land(*[0] * 99)
        self.assertEqual(1024, self.allowed(0))

    def test_one_build_that_fails_lets_one_go_at_a_time(self):
        self.land(0, 0, 0)
        self.fail(1)
        self.assertEqual((1, False), (self.allowed(2), self.hosts.stopped))
        self.assertTrue(self.hosts.failing)

    def test_two_projects_that_fail_on_a_host_stop_all(self):
        self.fail_for_two()
        self.assertEqual((0, True), (self.allowed(2), self.hosts.stopped))

    def test_they_stop_all_no_longer_if_their_clock_is_ahead(self):
        self.fail(6 * HOUR)
        self.fail(6 * HOUR, project='b')
        known = broken_hosts.Builds()
        known.learn(self.builds, samples.NOON)
        self.assertTrue(known.hosts.stopped)
        self.land(1)
        known.learn(self.builds, samples.NOON + 2 * MINUTE)
        self.assertFalse(known.hosts.stopped)

    def test_so_do_more_of_them(self):
        self.fail_for_two()
        self.fail(2, project='c')
        self.land(3, project='d', hosts=['other'])
        self.assertTrue(self.hosts.stopped)

    def test_two_projects_that_fail_on_two_hosts_do_not(self):
        self.fail(0)
        self.fail(1, project='b', hosts=['other'])
        self.assertEqual((1, False), (self.allowed(2), self.hosts.stopped))

    def test_three_projects_that_fail_stop_all_wherever_they_do(self):
        for number, project in enumerate('abc'):
            self.fail(number, project=project, hosts=[project])
        self.assertTrue(self.hosts.stopped)

    def test_one_that_lands_between_three_does_not_let_them_stop_all(self):
        for number, project in enumerate('abc'):
            self.fail(number, project=project, hosts=[project])
        self.land(1.5, project='d', hosts=['d'])
        self.assertFalse(self.hosts.stopped)

    def test_anybody_who_lands_on_the_host_lets_all_go_on(self):
        self.fail_for_two()
        self.land(2, project='c')
        self.assertEqual((2, False), (self.allowed(3), self.hosts.stopped))

    def test_who_lands_on_another_host_does_not(self):
        self.fail_for_two()
        self.land(2, project='c', hosts=['other'])
        self.assertTrue(self.hosts.stopped)

    def test_a_host_where_nobody_lands_stops_all_whoever_lands_elsewhere(self):
        for minute, project in enumerate('ab'):
            self.land(minute, project='c', hosts=['other'])
            self.fail(minute, project=project)
        self.assertTrue(self.hosts.stopped)

    def test_one_is_tried_after_half_an_hour(self):
        self.fail_for_two()
        self.assertEqual((0, 1), (self.allowed(30.9), self.allowed(31)))

    def test_one_that_fails_then_stops_it_for_as_long(self):
        self.fail_for_two()
        self.fail(33, project='c')
        self.assertEqual((0, 1), (self.allowed(62.9), self.allowed(63)))

    def test_half_an_hour_is_counted_from_the_last_that_failed(self):
        self.fail(0)
        self.fail(20, project='b')
        self.land(31, project='c', hosts=['other'])
        self.assertTrue(self.hosts.stopped)

    def test_one_that_lands_then_lets_it_go_on_whatever_its_host(self):
        self.fail_for_two()
        self.land(33, project='c', hosts=['other'])
        self.assertEqual((2, False), (self.allowed(33), self.hosts.stopped))

    def test_two_builds_of_a_project_stop_it_and_no_other(self):
        self.fail(0, 1)
        self.assertEqual({'a'}, self.hosts.stopped_projects)
        self.assertEqual(
            (0, 1), (self.allowed_of('a', 30.9), self.allowed_of('a', 31)))
        self.assertIsNone(self.allowed_of('b', 2))
        self.assertEqual((1, False), (self.allowed(2), self.hosts.stopped))

    def test_one_build_that_fails_lets_one_of_the_project_go_at_a_time(self):
        self.fail(0)
        self.land(1, 1, 1, project='b')
        self.assertEqual((8, 1), (self.allowed(2), self.allowed_of('a', 2)))

    def test_one_build_that_fails_counts_for_an_hour(self):
        self.fail(0)
        self.assertEqual([1, 0], [
            self.hosts.failures('a', samples.NOON + minutes * MINUTE)
            for minutes in (59, 60)])

    def test_one_of_another_project_that_lands_does_not_help_it(self):
        self.fail(0, 1)
        self.land(2, project='b')
        self.assertEqual((2, 0), (self.allowed(3), self.allowed_of('a', 3)))

    def test_one_of_its_own_that_lands_lets_it_go_on(self):
        self.fail(0, 1)
        self.land(2, hosts=['other'])
        self.assertIsNone(self.allowed_of('a', 3))
        self.assertEqual(0, self.hosts.failures(
            'a', samples.NOON + 3 * MINUTE))

    def test_who_did_not_wait_does_not_let_more_go(self):
        self.fail_for_two()
        self.land(2, 2, 2, project='c')
        self.builds[-3:] = [
            dataclasses.replace(build, waited=False)
            for build in self.builds[-3:]]
        self.assertEqual((2, False), (self.allowed(3), self.hosts.stopped))

    def test_one_build_may_fail_on_several_hosts(self):
        self.fail(0, hosts=['one', 'two'])
        self.fail(1, project='b', hosts=['two'])
        self.assertTrue(self.hosts.stopped)

    def test_hosts_are_not_trusted_for_long(self):
        self.land(0, 1, 2)
        self.assertEqual((16, 2), (self.allowed(31), self.allowed(32)))

    def test_it_is_the_same_in_whatever_order_they_are_read(self):
        self.fail_for_two()
        self.land(2, project='c')
        self.fail(3, project='c')
        found = self.allowed(4), self.hosts.stopped
        self.builds.reverse()
        self.assertEqual(found, (self.allowed(4), self.hosts.stopped))

    @hypothesis.given(
        st.lists(st.integers(1, 20), min_size=1, max_size=5),
        st.integers(1, 20))
    def test_a_broken_host_gets_at_most_four_of_twenty_in_an_hour(
            self, building, projects):
        self.builds, waiting, ends, sent = [], 20, [], []
        for minute in range(6 * HOUR):
            for end, project in [end for end in ends if end[0] == minute]:
                ends.remove((end, project))
                self.fail(minute, project=project)
            project = str(len(sent) % projects)
            of_project = self.allowed_of(project, minute)
            while waiting and len(ends) < self.allowed(minute) and (
                    of_project is None or of_project > len(ends)):
                waiting -= 1
                sent.append(minute)
                ends.append(
                    (minute + building[len(sent) % len(building)], project))
        self.assertGreater(len(sent), 5)
        for first in sent:
            self.assertLessEqual(
                sum(first <= then < first + HOUR for then in sent), 4)
