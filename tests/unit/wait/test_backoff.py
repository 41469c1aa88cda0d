# SPDX-License-Identifier: Apache-2.0

import datetime

import testtools

from cell0_rebuild.wait import backoff
from cell0_rebuild.wait import reasons
from tests.unit.wait import samples

MINUTE = datetime.timedelta(minutes=1)
REASON = reasons.Reason(reasons.Code.BLOCKED)


class BackoffTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.backoff = backoff.Backoff()

    def begin(self, who, now):
        self.backoff.begin(who, REASON, now, MINUTE, 30 * MINUTE)

    def test_what_no_longer_waits_is_forgotten_in_time(self):
        for number in range(1000):
            self.begin(str(number), samples.NOON + number * MINUTE)
        later = samples.NOON + 3 * 24 * samples.HOUR
        self.begin('another', later)
        self.assertEqual(['another'], list(self.backoff._rests))

    def test_how_many_times_it_rested_is_not_forgotten_at_once(self):
        self.begin('a', samples.NOON)
        self.begin('b', samples.NOON + 5 * samples.HOUR)
        self.assertEqual(1, self.backoff.times('a'))
