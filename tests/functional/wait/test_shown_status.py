# SPDX-License-Identifier: Apache-2.0

"""Servers that asked to wait are shown as BUILD while they do."""

import datetime

from nova import context as nova_context
from nova.db.main import models

from cell0_rebuild import cells
from cell0_rebuild.wait.effects import operator_actions
from cell0_rebuild.wait.effects import shown_status
from tests.functional import base
from tests.functional.support import counting
from tests.functional.support import databases
from tests.functional.wait import keystone
from tests.functional.wait import showing_base


class ShowingTest(showing_base.ShowingTestCase):

    def test_it_is_error_with_a_fault_when_its_time_is_over(self):
        self.sweeper.sweep()
        self.later = datetime.timedelta(hours=2)
        self.sweeper.sweep()
        self.assert_shown('ERROR')
        fault = self.api.get_server(self.server['id'])['fault']
        self.assertIn('waits no longer', fault['message'])
        self.make_room()
        self.rebuild(self.server)
        self.active(self.server)

    def test_who_did_not_ask_stays_error(self):
        self.flags(who='all', group=keystone.GROUP)
        other = self.wait_for_room({})
        self.sweeper.sweep()
        self.assert_shown_once(other['id'], 'ERROR')

    def test_all_are_error_when_the_site_no_longer_shows_them(self):
        self.sweeper.sweep()
        self.flags(show='error', group=keystone.GROUP)
        self.sweeper.sweep()
        self.assert_shown('ERROR')

    def test_who_waits_no_longer_is_error(self):
        self.sweeper.sweep()
        self.flags(who='off', group=keystone.GROUP)
        self.sweeper.sweep()
        self.assert_shown('ERROR')

    def test_who_is_just_being_buried_stays_as_nova_shows_it(self):
        self.flags(who='off', group=keystone.GROUP)
        databases.update('cell0', models.Instance, self.server['id'],
                         vm_state='building', task_state='scheduling')
        self.sweeper.sweep()
        self.assert_shown('BUILD')

    def test_it_stays_error_if_its_waiting_is_ended_in_a_sweep(self):
        self.useFixture(base.Interception(
            shown_status.ShownStatus.update,
            before=lambda *args: operator_actions.end(
                nova_context.get_admin_context(), self.server['id'])))
        self.sweeper.sweep()
        self.assert_shown('ERROR')

    def test_nothing_is_written_while_nothing_changes(self):
        self.sweeper.sweep()
        counts = self.useFixture(counting.CountingFixture())
        with counts.step('sweep') as costs:
            self.sweeper.sweep()
        self.assertEqual(
            {'SELECT'}, {kind.split()[1] for kind in costs
                         if kind.startswith('sql')})

    def test_a_row_that_somebody_works_on_is_left_alone(self):
        status = shown_status.ShownStatus(cells.in_cell0(
            nova_context.get_admin_context()))
        for values in ({'hidden': True}, {'task_state': 'deleting'},
                       {'vm_state': 'deleted'}):
            databases.update(
                'cell0', models.Instance, self.server['id'], **values)
            before = databases.dump()
            status.update({self.server['id']}, set())
            status.update(set(), {self.server['id']})
            self.assertEqual(
                [], databases.differences(before, databases.dump()))
            databases.update(
                'cell0', models.Instance, self.server['id'], hidden=False,
                task_state=None, vm_state='error')

    def test_the_time_of_its_last_change_stays(self):
        before = self.api.get_server(self.server['id'])['updated']
        self.sweeper.sweep()
        self.assertEqual(
            before, self.api.get_server(self.server['id'])['updated'])
