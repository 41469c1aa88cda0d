# SPDX-License-Identifier: Apache-2.0

import datetime
import uuid

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.decision import pacing
from tests.unit.wait import samples

BACKOFF = datetime.timedelta(seconds=60)
BACKOFF_MAX = datetime.timedelta(minutes=30)

uuids = st.integers(0, 2 ** 128 - 1).map(lambda number: str(
    uuid.UUID(int=number)))
times = st.timedeltas(
    datetime.timedelta(seconds=1), datetime.timedelta(days=365))


def server(**values):
    """Return a server that may have been tried."""
    return samples.server(tried_at=samples.NOON, **values)


@ddt.ddt
class RestTest(testtools.TestCase):

    @ddt.unpack
    @ddt.data((1, 60), (2, 120), (3, 240), (5, 960), (6, 1800), (99, 1800),
              (10 ** 9, 1800))
    def test_a_rest_doubles_up_to_the_longest(self, failures, seconds):
        rests = [pacing.rest(str(number), failures, BACKOFF, BACKOFF_MAX)
                 .total_seconds() / seconds for number in range(200)]
        self.assertTrue(0.8 <= min(rests) < 0.82, min(rests))
        self.assertTrue(1.18 < max(rests) <= 1.2, max(rests))

    @hypothesis.given(uuids, st.integers(1, 99), times, times)
    def test_a_rest_is_never_far_from_the_options(
            self, uuid, failures, backoff, most):
        rest = pacing.rest(uuid, failures, backoff, most)
        self.assertLessEqual(0.79 * min(backoff, most), rest)
        self.assertLessEqual(rest, 1.21 * most)

    def test_the_same_server_rests_as_long_after_a_restart(self):
        # The hash of a string differs from process to process.
        rest = pacing.rest(samples.server().uuid, 3, BACKOFF, BACKOFF_MAX)
        self.assertEqual('0:03:45.895707', str(rest))

    def test_who_has_not_failed_does_not_rest(self):
        self.assertIsNone(
            pacing.next_try(samples.server(), BACKOFF, BACKOFF_MAX))
        self.assertEqual(
            samples.NOON, pacing.next_try(server(), BACKOFF, BACKOFF_MAX))

    def test_a_rest_begins_with_the_last_try(self):
        found = pacing.next_try(server(failures=2), BACKOFF, BACKOFF_MAX)
        self.assertEqual(
            pacing.rest(server().uuid, 2, BACKOFF, BACKOFF_MAX),
            found - samples.NOON)


@ddt.ddt
class IntervalTest(testtools.TestCase):

    @ddt.unpack
    @ddt.data((0.0, 5, 2), (0.04, 5, 2), (0.3, 5, 6), (0.3, 10, 3), (5, 5, 60))
    def test_the_interval_follows_from_what_probes_take(
            self, seconds, budget, expected):
        self.assertAlmostEqual(expected, pacing.interval(
            pacing.asks_in(seconds, budget), False, True))

    @ddt.unpack
    @ddt.data((1, 0.06), (5, 0.3), (50, 3.0), (84, 5.0), (100, 5.0))
    def test_a_sweep_may_ask_for_what_six_seconds_allow_up_to_five_seconds(
            self, budget, seconds):
        self.assertAlmostEqual(seconds, pacing.most_seconds(budget))

    @ddt.unpack
    @ddt.data((0, 0.3), (4, 0.5), (54, 3.0), (3600, 3.0))
    def test_a_sweep_that_comes_late_may_ask_for_longer(self, late, seconds):
        self.assertAlmostEqual(seconds, pacing.most_seconds(5, late))

    @hypothesis.given(
        st.floats(0, 1), st.integers(1, 100), st.booleans())
    def test_probes_keep_the_budget(self, part, budget, moving):
        seconds = part * pacing.most_seconds(budget)
        found = pacing.interval(
            pacing.asks_in(seconds, budget), moving, False)
        self.assertTrue((0.25 if moving else 2) <= found <= 60)
        self.assertLessEqual(seconds, found * budget / 100 + 1e-9)

    def test_a_service_rests_longer_than_its_own_part_of_a_sweep_takes(self):
        self.assertEqual(2.0, pacing.pause(2.0, 0.1, False))
        self.assertEqual(20.0, pacing.pause(2.0, 5.0, False))
        self.assertEqual(60.0, pacing.pause(2.0, 500.0, False))

    def test_while_servers_come_back_it_rests_no_longer(self):
        self.assertEqual(0.25, pacing.interval(40.0, True, True))
        self.assertEqual(0.5, pacing.pause(0.5, 0.1, True))
        self.assertEqual(5.0, pacing.pause(0.5, 5.0, True))
