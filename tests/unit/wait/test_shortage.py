# SPDX-License-Identifier: Apache-2.0

from urllib import parse

import fixtures
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import why
from cell0_rebuild.wait import values

DEMANDS = 11
QUERY = parse.urlencode({'limit': 1000, 'resources': ','.join(
    f'CUSTOM_{number}:1' for number in range(DEMANDS))})


class ShortageTest(testtools.TestCase):
    """A question that asks for eleven things, and is told no."""

    def setUp(self):
        super().setUp()
        self.asked, self.hosts = [], 0
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.demand.probes.room', self.room))

    def room(self, context, query):
        """Answer as Placement."""
        self.asked.append(parse.parse_qs(query))
        return values.Room(self.hosts)

    def test_it_costs_at_most_ten_questions(self):
        self.assertEqual([], list(why.shortage(None, QUERY)))
        self.assertEqual(10, len(self.asked))

    def test_one_that_takes_long_is_given_up(self):
        self.assertRaises(
            exceptions.NoPlacement, list, why.shortage(None, QUERY, -1))
        self.assertEqual([], self.asked)

    def test_a_question_is_for_few_candidates(self):
        list(why.shortage(None, QUERY))
        self.assertEqual({'50'}, {one['limit'][0] for one in self.asked})

    def test_hosts_that_were_not_counted_are_not_left_out(self):
        texts = []
        for self.hosts in (1, 49, 50):
            texts.append(str(next(why.shortage(None, QUERY))))
        self.assertEqual(
            ['1 host has', '49 hosts have', 'at least 50 hosts have'],
            [text.split('; ')[1].removesuffix(' room for the rest')
             for text in texts])
