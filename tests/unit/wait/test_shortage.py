# SPDX-License-Identifier: Apache-2.0

import datetime
from urllib import parse

import fixtures
import testtools

from cell0_rebuild.wait import placement_checks
from cell0_rebuild.wait import probes
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import why
from tests.unit.wait import samples

DEMANDS = 11
QUERY = parse.urlencode({'limit': 1000, 'resources': ','.join(
    f'CUSTOM_{number}:1' for number in range(DEMANDS))})


class ShortageTest(testtools.TestCase):
    """A shape that asks for eleven things, and is told no."""

    def setUp(self):
        super().setUp()
        self.asked, self.hosts = [], 0
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.probes.room', self.room))
        self.checks = placement_checks.PlacementChecks(None)

    def room(self, context, query):
        """Answer as Placement."""
        self.asked.append(parse.parse_qs(query))
        return probes.Room(self.hosts)

    def shortage(self, minutes):
        """Return how many questions were asked to tell what is short."""
        self.asked.clear()
        self.checks.begin()
        self.checks.shortage(
            shape_cache.Shape(QUERY),
            samples.NOON + minutes * datetime.timedelta(minutes=1))
        return sum(len(one['resources'][0].split(',')) < DEMANDS
                   for one in self.asked)

    def test_a_shape_costs_at_most_ten_questions_in_five_minutes(self):
        self.assertEqual([10, 0, 0, 10, 0], [
            self.shortage(minutes) for minutes in (0, 1, 4.9, 5, 6)])

    def test_a_question_is_for_few_candidates(self):
        self.shortage(0)
        self.assertEqual({'50'}, {one['limit'][0] for one in self.asked})

    def test_hosts_that_were_not_counted_are_not_left_out(self):
        texts = []
        for self.hosts in (1, 49, 50):
            texts.append(str(next(why.shortage(None, QUERY))))
        self.assertEqual(
            ['1 host has', '49 hosts have', 'at least 50 hosts have'],
            [text.split('; ')[1].removesuffix(' room for the rest')
             for text in texts])
