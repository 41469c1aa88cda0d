# SPDX-License-Identifier: Apache-2.0

import collections
import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.decision import candidates
from tests.unit.wait import samples


class LimitTest(testtools.TestCase):

    def test_the_oldest_of_a_project_wait(self):
        old, young, other = (
            samples.server(1, age=2), samples.server(2, age=1, priority=9),
            samples.server(3, 'b'))
        self.assertCountEqual(
            [old, other],
            candidates.within_limit([young, other, old], 1, samples.NOON))

    def test_one_that_waits_for_less_is_told_that_its_time_is_over(self):
        servers = [samples.server(number) for number in range(3)]
        servers[2] = dataclasses.replace(
            servers[2], deadline=samples.NOON - samples.HOUR)
        self.assertEqual(
            [servers[0], servers[2]],
            candidates.within_limit(servers, 1, samples.NOON))

    @hypothesis.given(samples.servers())
    def test_zero_is_no_limit(self, servers):
        self.assertCountEqual(
            servers, candidates.within_limit(servers, 0, samples.NOON))

    @hypothesis.given(samples.servers(), st.integers(1, 5))
    def test_as_many_of_a_project_wait_as_may(self, servers, most):
        there = collections.Counter(
            one.project_id for one in servers if not expired(one))
        self.assertEqual(
            {project: min(number, most) for project, number in there.items()},
            collections.Counter(
                one.project_id
                for one in candidates.within_limit(servers, most, samples.NOON)
                if not expired(one)))

    @hypothesis.given(samples.servers(), st.integers(1, 5))
    def test_who_is_expired_is_told_so_and_takes_no_place(
            self, servers, most):
        found = candidates.within_limit(servers, most, samples.NOON)
        late = [one for one in servers if expired(one)]
        self.assertCountEqual(late, [one for one in found if expired(one)])
        self.assertCountEqual(
            [one for one in found if not expired(one)],
            candidates.within_limit(
                [one for one in servers if not expired(one)], most,
                samples.NOON))


def expired(server):
    """Tell whether the time of a server is over."""
    return server.deadline <= samples.NOON
