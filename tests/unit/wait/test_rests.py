# SPDX-License-Identifier: Apache-2.0

import datetime

import testtools

from cell0_rebuild.wait.memory import rests
from cell0_rebuild.wait import texts

MINUTE = datetime.timedelta(minutes=1)
HOUR = 3600.0


class RestsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.rests = rests.Rests()

    def begin(self, who, now):
        self.rests.begin(who, texts.NO_ROLE, now, MINUTE, 30 * MINUTE)

    def test_what_no_longer_waits_is_forgotten_in_time(self):
        for number in range(1000):
            self.begin(str(number), 60.0 * number)
        later = 3 * 24 * HOUR
        self.begin('another', later)
        self.rests.forget_old(later)
        self.assertEqual(['another'], list(self.rests._rests))

    def test_how_many_times_it_rested_is_not_forgotten_at_once(self):
        self.begin('a', 0.0)
        self.rests.forget_old(5 * HOUR)
        self.assertEqual(1, self.rests.times('a'))
