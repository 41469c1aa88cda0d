# SPDX-License-Identifier: Apache-2.0

"""A server that boots is deleted as ever, also where BUILD counts as buried.
"""

from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional.support import counting
from tests.functional.support import databases


class BootingTest(base.FunctionalTestCase):

    options = {'vm_states': ['error', 'building']}

    def setUp(self):
        super().setUp()
        self.useFixture(nova_fixtures.CastAsCallFixture(self))
        self.useFixture(nova_fixtures.SpawnIsSynchronousFixture())
        self.counts = self.useFixture(counting.CountingFixture())
        self._start_compute('host1')
        # No compute is told of it: its row in the cell has no host.
        self.stub_out(base.CAST, lambda *args, **kwargs: None)

    def cost(self, step):
        """Return what the delete of a server that boots costs."""
        server = self.api.post_server({
            'server': self._build_server(networks='none')})
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assert_shown_once(server['id'], 'BUILD')
        with self.counts.step(step) as costs:
            self.api.delete_server(server['id'])
        self.assertEqual([], self.api.get_servers())
        return costs

    def test_a_delete_makes_no_other_statements(self):
        self.cost('warm-up')
        both = self.cost('with building')
        self.flags(vm_states=['error'], group='cell0_rebuild')
        self.assertEqual(self.cost('without it'), both)
