# SPDX-License-Identifier: Apache-2.0

"""A conductor dies in a burial, and leaves a row in a real cell."""

import threading

from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova import objects

from cell0_rebuild.move import cell_db
from cell0_rebuild.move import journal
from cell0_rebuild.move import mapped_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering


class LeftRowTest(recover_base.RecoverTestCase):

    NUMBER_OF_CELLS = 2

    def setUp(self):
        super().setUp()
        self._start_compute('host2', cell_name='cell2')
        self.set_host('host2', 'disabled')

    def set_host(self, host, status):
        self.api.put_service(
            self.computes[host].service_ref.uuid, {'status': status})

    def move_to_second_cell(self):
        self.set_host('host1', 'disabled')
        self.set_host('host2', 'enabled')

    def leave_row(self, step=recovering.TAGS, let_through=True):
        """Have a burial die when its server is back in cell0.

        :param step: fails in the build.
        :param let_through: later messages are not held back.
        """
        self.useFixture(base.Interception(step, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=recovering.crash)
        if let_through:
            self.late.let_through()
        self.assertEqual('cell0', databases.cell_of(self.server['id']))
        self.assertEqual(1, len(self.rows('cell1')))

    def rows(self, cell):
        return [row for row in databases.dump()[cell]['instances']
                if row['uuid'] == self.server['id']]

    def assert_built_in_the_second_cell(self):
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual('cell2', databases.cell_of(self.server['id']))
        self._wait_for_assert(lambda: self.assertEqual(
            ([], []), (self.rows('cell0'), self.rows('cell1'))))
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_no_list_shows_it(self):
        self.leave_row()
        self.assert_shown_once(self.server['id'], 'ERROR')

    def test_the_next_rebuild_removes_it_wherever_it_goes(self):
        self.leave_row()
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def first_cell_down(self):
        """Return a fixture in which no row is removed in the first cell."""
        remove = cell_db.remove

        def be_down(context, uuid, cell, *args, **kwargs):
            if cell.name == 'cell1':
                recovering.lose_database()
            return remove(context, uuid, cell, *args, **kwargs)
        return base.fixtures.MonkeyPatch(recovering.REMOVE, be_down)

    def test_a_cell_is_looked_into_until_nothing_is_left_there(self):
        self.leave_row()
        self.set_host('host1', 'disabled')
        self.set_host('host2', 'disabled')
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual([], self.rows('cell1'))
        self.useFixture(self.first_cell_down())
        self.set_host('host2', 'enabled')
        self.assert_built_in_the_second_cell()

    def test_a_cell_is_not_looked_into_after_a_recovery(self):
        self.leave_row()
        recovering.recover()
        self.assertEqual([], self.rows('cell1'))
        self.useFixture(self.first_cell_down())
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def test_a_row_that_is_left_while_a_recovery_hangs_is_known(self):
        def leave_another(*args, **kwargs):
            self.useFixture(base.Interception(
                recovering.TAGS, before=recovering.fail))
            self.useFixture(base.Interception(
                recovering.BACK, after=recovering.crash))
            self.rebuild(self.server)
            self.late.deliver(1)

        self.leave_row(let_through=False)
        # SQLite would give the ID of the row to the next one.
        self._create_server(networks='none')
        self.useFixture(base.Interception(
            recovering.REMOVE, before=leave_another))
        recovering.recover()
        self.assertEqual(1, len(self.rows('cell1')))
        self.late.let_through()
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def test_a_row_is_known_though_a_stock_nova_has_dropped_the_attempt(self):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        databases.forget(self.server['id'])
        with self.first_cell_down():
            self.assertEqual(1, recovering.recover()[0])
        self.assertEqual(1, len(self.rows('cell1')))
        self.assertEqual(
            sorted(cell.uuid for name, cell in self.cell_mappings.items()
                   if name != 'cell0'),
            recovering.entry(self.server['id'])['cells'])

    def create_late(self):
        """Have a conductor create its row when the server is elsewhere."""
        def build_elsewhere(*args, **kwargs):
            self.assertEqual(0, recovering.recover()[0])
            self.move_to_second_cell()
            self.late.let_through()
            self.assert_built_in_the_second_cell()
            self.useFixture(base.Interception(
                recovering.TAGS, before=recovering.crash))
        self.rebuild_until(
            'nova.availability_zones.get_host_availability_zone',
            before=build_elsewhere)
        self.assertEqual([False], [
            row['hidden'] for row in self.rows('cell1')])

    def assert_row_goes(self):
        """Check that a recovery removes the row, and nothing else."""
        before = self.rows('cell2')
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'leftovers'), (code, found[self.server['id']]['state']))
        self.assertEqual(([], before), (self.rows('cell1'),
                                        self.rows('cell2')))
        self.assertEqual((0, {}), recovering.recover())

    def test_a_row_that_is_created_when_the_server_is_elsewhere_goes(self):
        self.create_late()
        self.assert_row_goes()
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_it_goes_though_the_server_is_deleted_by_then(self):
        self.create_late()
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        self.assert_row_goes()
        self.assertEqual([], self.api.get_servers())

    def test_it_stays_if_there_is_no_other(self):
        self.create_late()
        context = nova_context.get_admin_context()
        nova_context.set_target_cell(context, self.cell_mappings['cell2'])
        main_db_api.instance_destroy(
            context, self.server['id'], hard_delete=True)
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual(1, len(self.rows('cell1')))

    def test_a_row_that_is_created_just_before_that_of_a_rebuild_goes(self):
        context = nova_context.get_admin_context()
        nova_context.set_target_cell(context, self.cell_mappings['cell1'])
        self.late.let_through()
        self.useFixture(base.Interception(
            'nova.availability_zones.get_host_availability_zone',
            before=lambda *args: main_db_api.instance_create(context, {
                'uuid': self.server['id'], 'project_id': 'stale'})))
        self.rebuild(self.server)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([self.api.project_id], [
            row['project_id'] for row in self.rows('cell1')])

    def test_it_stays_while_it_is_young(self):
        self.create_late()
        self.assertEqual((0, {}), recovering.recover(older_than=3600))
        self.assertEqual(1, len(self.rows('cell1')))

    def test_a_cell_is_not_looked_into_after_a_burial_that_ended(self):
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))
        self.late.let_through()
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.useFixture(self.first_cell_down())
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def test_a_cell_is_looked_into_though_a_burial_ends_later(self):
        self.leave_row()
        context = nova_context.get_admin_context()
        another = journal.Entry.new()
        mapped_db.clear_cells(context, self.server['id'], another, [
            cell.uuid for cell in objects.CellMappingList.get_all(context)])
        mapped_db.leave(context, self.server['id'], another)
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def meet_burial(self, step, until, meanwhile):
        """Ask for a rebuild while a burial is about to remove a row.

        :param step: fails in the build.
        :param until: the step of the burial that ends in the request.
        :param meanwhile: the step of the request before which it ends.
        """
        removing, go_on, ended = (threading.Event() for _ in range(3))
        self.useFixture(base.Interception(step, before=recovering.fail))
        self.useFixture(base.Interception(
            recovering.REMOVE,
            before=lambda *args, **kwargs: removing.set() or go_on.wait(20)))
        self.useFixture(base.Interception(
            until, after=lambda *args, **kwargs: ended.set()))
        self.late.let_through()
        self.rebuild(self.server)
        self.assertTrue(removing.wait(20))
        self.useFixture(base.Interception(
            meanwhile,
            before=lambda *args, **kwargs: go_on.set() or ended.wait(20)))
        return go_on

    def test_a_rebuild_before_it_is_shown_again_is_refused_at_once(self):
        go_on = self.meet_burial(
            recovering.CAST, recovering.SHOW_AGAIN, recovering.HIDE)
        self.assert_refused(409, self.server)
        go_on.set()
        self._wait_for_assert(
            lambda: self.assert_shown_once(self.server['id'], 'ERROR'))
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def test_a_rebuild_while_a_burial_ends_is_accepted(self):
        self.meet_burial(
            recovering.TAGS, recovering.LEAVE, recovering.MOVE)
        self.move_to_second_cell()
        self.assert_built_in_the_second_cell()

    def test_the_next_rebuild_fails_while_its_cell_is_down(self):
        self.leave_row()
        self.move_to_second_cell()
        with self.first_cell_down():
            self.rebuild(self.server)
            self.buried_again(self.server)
        self.assertEqual([], self.rows('cell2'))
        self.assert_built_in_the_second_cell()

    def test_a_server_that_was_not_shown_again_waits_for_a_recovery(self):
        self.leave_row(recovering.CAST)
        self.move_to_second_cell()
        before = databases.dump()
        self.assert_refused(409, self.server)
        self.assertEqual([], databases.differences(before, databases.dump()))
        recovering.recover()
        self.assert_built_in_the_second_cell()

    def test_a_server_that_leaves_its_cell_is_listed_as_it_is_shown(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild_until(recovering.SHOW, after=recovering.crash)
        self.assertEqual(1, len(self.rows('cell1')))
        self.assert_shown_once(self.server['id'], 'ERROR')
