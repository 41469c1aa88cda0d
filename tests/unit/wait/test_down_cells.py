# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
from oslo_db import exception as db_exc
import testtools

from cell0_rebuild.wait.census import down_cells

ONE, OTHER = (types.SimpleNamespace(uuid=name, identity=name)
              for name in ('one', 'other'))


class DeadCellsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.now, self.looks = 0, 0
        self.down = down_cells.DownCells(lambda: self.now)

    def look(self, cell, error=None, takes=0):
        """Look into a cell; tell whether it is down."""
        try:
            with self.down.looking(cell):
                self.looks += 1
                self.now += takes
                if error:
                    raise error
        except down_cells.CellDown:
            return True
        return False

    def test_a_dead_cell_is_looked_at_once_in_a_minute(self):
        for seconds in (0, 59, 60):
            self.now = seconds
            self.assertTrue(self.look(ONE, db_exc.DBError('Access denied')))
        self.assertEqual(2, self.looks)
        self.assertEqual(1, self.log.output.count('Access denied'))

    def test_a_dead_cell_takes_a_twentieth_of_the_time_at_most(self):
        self.look(ONE, db_exc.DBConnectionError(), takes=100)
        self.now = 2099
        self.assertTrue(self.look(ONE))
        self.now = 2100
        self.assertFalse(self.look(ONE))

    def test_another_cell_is_looked_at(self):
        self.look(ONE, db_exc.DBConnectionError())
        self.assertFalse(self.look(OTHER))

    def test_a_cell_that_is_back_is_looked_at(self):
        self.look(ONE, db_exc.DBConnectionError())
        self.now = 60
        self.assertEqual([False, False], [self.look(ONE), self.look(ONE)])

    def test_a_mistake_is_not_about_the_cell(self):
        self.assertRaises(
            ZeroDivisionError, self.look, ONE, ZeroDivisionError())
        self.assertFalse(self.look(ONE))
