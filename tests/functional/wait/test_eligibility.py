# SPDX-License-Identifier: Apache-2.0

"""Who waits is read from the databases as Nova fills them."""

import datetime
import json

from nova import context as nova_context
from nova.db.api import models as api_models
from nova.db.main import models
from nova import objects as nova_objects
from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild import objects
from cell0_rebuild.wait import wishes
from tests.functional.support import counting
from tests.functional.support import databases
from tests.functional.wait import census_base

LAUNCHED = datetime.datetime(2026, 1, 1)


class CensusTestCase(census_base.WaitingTestCase):

    def test_who_is_not_at_rest_in_cell0_does_not_wait(self):
        (waits, shown, deleted, deleting, hidden, launched, placed, other,
         moved, marked) = servers = self.bury_many(10)
        self.assert_who_waits(servers)
        self.api.delete_server(deleted['id'])
        for server, values in (
                (shown, {'vm_state': 'building'}),
                (deleting, {'task_state': 'deleting'}),
                (hidden, {'hidden': True}),
                (launched, {'launched_at': LAUNCHED}),
                (placed, {'host': 'host1'}),
                (other, {'vm_state': 'active'})):
            databases.update('cell0', models.Instance, server['id'], **values)
        for server, values in ((moved, {'cell_id': None}),
                               (marked, {'queued_for_delete': True})):
            databases.update(
                'api', api_models.InstanceMapping, server['id'], **values)
        self.assert_who_waits([waits, shown])
        self.assertEqual({shown['id']}, census_base.taken().shown)

    def test_who_did_not_ask_waits_only_if_all_do(self):
        server = self.bury()
        self.assert_who_waits([])
        self.assert_who_waits([server], site=wishes.Site(
            'all', census_base.SITE.default_time, census_base.SITE.max_time))

    def test_what_the_owner_wished_is_known(self):
        server = self.bury(metadata={
            **census_base.ASKED, wishes.NICE: '3', 'other': 'value'})
        found = self.found(server)
        self.assertEqual(
            (2 * census_base.HOUR, True, 3, self.api.project_id),
            (found.deadline - found.created_at, found.asked, found.nice,
             found.project_id))
        self.assertLess(
            timeutils.utcnow() - found.created_at, census_base.HOUR)

    def test_the_flavor_can_ask(self):
        server = self.bury(flavorRef=self._create_flavor(extra_spec={
            wishes.FLAVOR_WAIT: '3h', 'hw:mem_page_size': '4'}))
        found = self.found(server)
        self.assertEqual(
            3 * census_base.HOUR, found.deadline - found.created_at)

    def test_a_lock_is_known(self):
        server = self.bury(metadata=census_base.ASKED)
        self.assertFalse(self.found(server).locked)
        self.api.post_server_action(server['id'], {'lock': {}})
        self.assertTrue(self.found(server).locked)

    def test_whose_time_is_over_is_found(self):
        server = self.bury(metadata=census_base.ASKED)
        databases.update(
            'cell0', models.Instance, server['id'], created_at=LAUNCHED)
        self.assertEqual(
            LAUNCHED + 2 * census_base.HOUR, self.found(server).deadline)

    def test_rebuilds_that_failed_are_counted(self):
        server = self.bury(metadata=census_base.ASKED)
        self.assertEqual(
            (0, None), (self.found(server).failures,
                        self.found(server).tried_at))
        before = timeutils.utcnow(with_timezone=False).replace(microsecond=0)
        for _ in range(2):
            self.rebuild(server)
            self.buried_again(server)
        self._start_action(server)
        found = self.found(server)
        self.assertEqual(2, found.failures)
        self.assertGreaterEqual(found.tried_at, before)

    def test_who_was_buried_by_stock_nova_cannot_wait(self):
        server = self.bury(metadata=census_base.ASKED)
        databases.forget(server['id'])
        self.assert_who_waits([])
        self.assertIn('without cell0-rebuild',
                      census_base.taken().problems[server['id']])

    def test_what_an_operator_decided_is_known(self):
        server, ended = self.bury_many(2)
        self.decide(server, priority=5, held=True, later='unknown')
        self.decide(ended, ended=True)
        self.assert_who_waits([server])
        found = self.found(server)
        self.assertEqual((5, True), (found.priority, found.held))

    def test_a_decision_that_cannot_be_read_is_a_problem(self):
        server = self.bury(metadata=census_base.ASKED)
        self.decide(server, priority='high')
        self.assert_who_waits([])
        self.assertIn('damaged', census_base.taken().problems[server['id']])

    def test_a_wish_that_means_nothing_is_a_problem(self):
        server = self.bury(metadata={**census_base.ASKED, wishes.NICE: 'very'})
        self.assert_who_waits([server])
        self.assertIn('very', census_base.taken().problems[server['id']])

    def test_a_page_takes_four_statements(self):
        servers = self.bury_many(5)
        counts = self.useFixture(counting.CountingFixture())
        # What a process looks up once.
        self.assert_who_waits(servers)
        with counts.step('one page') as one:
            census_base.taken()
        self.stub_out('cell0_rebuild.wait.census.buried.PAGE', 2)
        with counts.step('three pages') as three:
            self.assert_who_waits(servers)
        self.assertEqual(
            (4 + 1, 3 * 4 + 1),
            (sum(one.values()), sum(three.values())))

    def test_nothing_is_changed(self):
        self.bury(metadata=census_base.ASKED)
        before = databases.dump()
        census_base.taken()
        self.assertEqual([], databases.differences(before, databases.dump()))

    def _start_action(self, server):
        """Begin a rebuild of which nobody knows how it ends."""
        context = nova_context.get_admin_context()
        nova_objects.InstanceAction.action_start(
            cells.in_cell0(context), server['id'],
            'rebuild')

    def decide(self, server, **entries):
        """Store what an operator has decided."""
        blob = json.loads(databases.spec_of(server['id']).blob)
        blob[objects.SECTION]['waiting'] = entries
        databases.update('api', api_models.RequestSpec, server['id'],
                         spec=json.dumps(blob))
