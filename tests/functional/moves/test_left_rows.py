# SPDX-License-Identifier: Apache-2.0

"""A conductor dies in a burial, and leaves a row in a real cell."""

from oslo_db import exception as db_exc

from cell0_rebuild.move import cell_db
from tests.functional import base
from tests.functional import databases
from tests.functional import recover_base
from tests.functional import recovering


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

    def leave_row(self, step=recovering.TAGS):
        """Have a burial die when its server is back in cell0.

        :param step: fails in the build.
        """
        self.useFixture(base.Interception(step, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=recovering.crash)
        self.late.let_through()
        self.assertEqual('cell0', databases.cell_of(self.server['id']))
        self.assertEqual(1, len(self.rows('cell1')))

    def rows(self, cell):
        return databases.dump()[cell]['instances']

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

    def test_the_next_rebuild_fails_while_its_cell_is_down(self):
        self.leave_row()
        self.move_to_second_cell()
        remove = cell_db.remove

        def be_down(*args, **kwargs):
            raise db_exc.DBConnectionError(Exception('down'))
        self.stub_out('cell0_rebuild.move.cell_db.remove', be_down)
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assertEqual([], self.rows('cell2'))
        self.stub_out('cell0_rebuild.move.cell_db.remove', remove)
        self.assert_built_in_the_second_cell()

    def test_a_server_that_was_not_shown_again_waits_for_a_recovery(self):
        self.leave_row(recovering.CAST)
        self.move_to_second_cell()
        before = databases.dump()
        self.assert_refused(409, self.server)
        self.assertEqual([], databases.differences(before, databases.dump()))
        recovering.recover()
        self.assert_built_in_the_second_cell()
