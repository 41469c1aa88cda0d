# SPDX-License-Identifier: Apache-2.0

import collections

import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait import limit
from tests.unit.wait import samples


class LimitTest(testtools.TestCase):

    def test_the_oldest_of_a_project_wait(self):
        old, young, other = (
            samples.server(1, age=2), samples.server(2, age=1, priority=9),
            samples.server(3, 'b'))
        self.assertCountEqual(
            [old, other], limit.within([young, other, old], 1))

    @hypothesis.given(samples.servers())
    def test_zero_is_no_limit(self, servers):
        self.assertCountEqual(servers, limit.within(servers, 0))

    @hypothesis.given(samples.servers(), st.integers(1, 5))
    def test_as_many_of_a_project_wait_as_may(self, servers, most):
        there = collections.Counter(one.project_id for one in servers)
        self.assertEqual(
            {project: min(number, most) for project, number in there.items()},
            collections.Counter(
                one.project_id for one in limit.within(servers, most)))
