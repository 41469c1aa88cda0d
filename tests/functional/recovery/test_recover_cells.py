# SPDX-License-Identifier: Apache-2.0

"""The command looks into the databases of all cells."""

import contextlib
import io
import re

from oslo_upgradecheck import upgradecheck

from cell0_rebuild.cmd import status
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering


class TwoCellsTest(recover_base.RecoverTestCase):
    """Its host is in the first cell, or in the second."""

    NUMBER_OF_CELLS = 2

    def disable_host(self):
        """Leave no host."""
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})

    def move_to_second_cell(self):
        """Leave a host in the second cell only."""
        self.disable_host()
        self._start_compute('host2', cell_name='cell2')

    def recover(self):
        """Run the command; return its exit code, what it found and says."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code, found = recovering.recover()
        return code, found, said.getvalue()

    def test_what_was_left_in_the_second_cell_is_removed(self):
        self.move_to_second_cell()
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.assertEqual(
            1, len(databases.dump()['cell2']['instances']))
        self.assert_recovered('not built')
        self.assertEqual([], databases.dump()['cell2']['instances'])

    def test_what_the_second_cell_has_is_finished(self):
        self.move_to_second_cell()
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        code, found, _ = self.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.assertEqual('cell2', databases.cell_of(self.server['id']))
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_of_a_cell_that_is_down_the_others_are_still_looked_at(self):
        self.rebuild(self.server)
        before = databases.dump()
        with databases.down('cell2'):
            code, found, said = self.recover()
        self.assertEqual(1, code)
        self.assertEqual('unknown', found[self.server['id']]['state'])
        self.assertIn('down', found[self.server['id']]['result'])
        self.assertIn('Servers may have been missed. Cell ', said)
        self.assertIn('(cell2): DBConnectionError', said)
        self.assertEqual([], databases.differences(before, databases.dump()))
        self.assert_recovered('on its way')

    def test_a_cell_that_is_down_is_waited_for_once_and_not_by_server(self):
        self.disable_host()
        for server in (self.server, self.bury(), self.bury()):
            self.rebuild(server)
        before = len(self.stdlog.logger.output)
        with databases.down('cell2') as tries:
            found = self.recover()[1]
        self.assertEqual(3, len(found))
        for finding in found.values():
            self.assertIn(
                '(cell2): DBConnectionError: down', finding['result'])
        # One looks for servers, one looks at them.
        self.assertEqual(2, len(tries))
        logged = self.stdlog.logger.output[before:]
        self.assertEqual(3, logged.count('The server cannot be looked at.'))
        self.assertEqual(
            ['Cell'], re.findall(r'ERROR .*\] (\w+) .*\nTraceback', logged))

    def test_a_server_of_a_cell_that_is_down_is_not_interrupted(self):
        self.useFixture(base.fixtures.MonkeyPatch(
            recovering.AGE, recovering.AT_ONCE))
        self.late.let_through()
        self.disable_host()
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [False], databases.hidden(self.server['id'])))
        self.assertIsNone(status.Checks().check_stuck().details)
        with databases.down('cell2'):
            details = status.Checks().check_stuck().details
        self.assertIn('1 servers could not be looked at.', details)
        self.assertIn('(cell2): DBConnectionError', details)
        self.assertNotIn('interrupted', details)

    def test_where_cell0_is_down_real_cells_are_still_looked_at(self):
        with databases.down('cell0'):
            for check in (status.Checks().check_stuck,
                          status.Checks().check_unknown):
                result = check()
                self.assertEqual(upgradecheck.Code.WARNING, result.code)
                self.assertIn('DBConnectionError: down', result.details)
