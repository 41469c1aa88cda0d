# SPDX-License-Identifier: Apache-2.0

"""What a sweep costs while nothing fits: by shapes, not by servers."""

import fixtures

from tests.functional import base
from tests.functional.support import counting
from tests.functional.support import databases
from tests.functional.wait import sweeping

MANY = 30
SHAPES = 3

# SQL statements of the sweeps of a service that starts, for so many shapes,
# and of each further page of servers.
FIRST, NEXT = 52, 32
FIRST_OF_A_PAGE, NEXT_OF_A_PAGE = 7, 4
# SQL statements of telling an owner why a server waits.
OF_A_MESSAGE = 4
PAGES = 'census.buried.PAGE', 'effects.notices._PAGE', 'demand.spec_key.PAGE'


class SweepCostsTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.fill()
        self.counts = self.useFixture(counting.CountingFixture())
        self.counts.count_requests(self)

    def bury_many(self, count):
        """Bury servers of three flavors."""
        for vcpus in range(1, SHAPES + 1):
            server = self._build_server(networks='none')
            server.update(
                metadata=sweeping.WAITS, min_count=count // SHAPES,
                flavorRef=self._create_flavor(vcpu=vcpus))
            self.api.post_server({'server': server})
            # Nova's fixture of the cells lets no request in for as long as
            # very many are changed.
            self._wait_for_assert(lambda: self.assertEqual(
                [], databases.dump()['api']['build_requests']))

    def cost(self):
        """Sweep; return the costs, and how many servers wait."""
        with self.counts.step('sweep') as costs:
            swept = self.sweeper.sweep()
        self.counts.steps.clear()
        return dict(costs), len(swept.reasons)

    def test_nothing_is_written_or_scheduled_while_nothing_fits(self):
        self.bury_many(MANY)
        self.cost()
        before = databases.dump()
        costs, waiting = self.cost()
        self.assertEqual(MANY // SHAPES * SHAPES, waiting)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        # There is no room for the least; the others ask for more.
        self.assertEqual(1, costs.pop('http placement get'))
        self.assertEqual({'sql'}, {kind.split()[0] for kind in costs})
        self.assertEqual({'SELECT'}, {kind.split()[1] for kind in costs})
        self.assertEqual([], self.asked())

    def test_it_costs_the_same_whatever_the_number_of_servers(self):
        self.bury_many(SHAPES)
        self.cost()
        few, _ = self.cost()
        self.bury_many(MANY)
        self.cost()
        many, waiting = self.cost()
        self.assertGreater(waiting, MANY)
        self.assertEqual(sum(few.values()), sum(many.values()))

    def statements(self, page):
        """Return the statements of the sweeps of a new service.

        :param page: how many servers one statement reads.
        """
        for name in PAGES:
            self.useFixture(fixtures.MonkeyPatch(
                f'cell0_rebuild.wait.{name}', page))
        self.sweeper = self.a_sweeper()
        return [_statements(self.cost()[0]) for _ in range(2)]

    def test_the_sweeps_of_a_service_stay_in_their_bounds(self):
        self.bury_many(MANY)
        self.cost()
        first, after = self.statements(MANY)
        self.assertLessEqual(first, FIRST)
        self.assertLessEqual(after, NEXT)

    def test_each_further_page_of_servers_stays_in_its_bounds(self):
        self.bury_many(MANY)
        self.cost()
        first, after = self.statements(MANY)
        first_of_five, after_of_five = self.statements(MANY // 5)
        self.assertLessEqual(first_of_five - first, 4 * FIRST_OF_A_PAGE)
        self.assertLessEqual(after_of_five - after, 4 * NEXT_OF_A_PAGE)

    def test_a_message_stays_in_its_bounds(self):
        self.bury_many(SHAPES)
        # The first sweep learns what the next ones know.
        self.cost()
        costs_of_none, told = self.cost()
        self.bury_many(MANY)
        costs, waiting = self.cost()
        self.assertLessEqual(
            _statements(costs) - _statements(costs_of_none),
            (waiting - told) * OF_A_MESSAGE)


def _statements(costs):
    return sum(count for kind, count in costs.items()
               if kind.startswith('sql'))
