# SPDX-License-Identifier: Apache-2.0

"""A row of the matrix is green if its tests passed on the code as it is."""

import io
import json
import pathlib

import ddt
import fixtures
from rich import console
import testtools

from tools import run_matrix


class MatrixTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_matrix.STATE', self.folder))

    def keep(self, row='26', suite='unit', **changes):
        """Keep a result of a suite on a row."""
        (self.folder / f'{row}-{suite}.json').write_text(json.dumps({
            'stamp': run_matrix.stamp(row, suite), 'passed': 700,
            'failed': 0, 'skipped': 2, 'seconds': 100, **changes}))


@ddt.ddt
class GreenTest(MatrixTestCase):

    def test_it_is_if_all_passed(self):
        self.keep()
        self.assertTrue(run_matrix.is_green('26', 'unit'))

    @ddt.data({'stamp': 'earlier'}, {'failed': 1}, {'passed': 0})
    def test_it_is_not_with_a_result(self, changes):
        self.keep(**changes)
        self.assertFalse(run_matrix.is_green('26', 'unit'))

    @ddt.data('34', '34-py313')
    def test_the_newest_is_not_if_a_test_was_skipped(self, row):
        self.keep(row)
        self.assertFalse(run_matrix.is_green(row, 'unit'))
        self.keep(row, skipped=0)
        self.assertTrue(run_matrix.is_green(row, 'unit'))

    def test_it_is_not_if_nothing_was_run(self):
        self.assertFalse(run_matrix.is_green('26', 'unit'))


class WrittenTest(MatrixTestCase):
    """The table of the documentation, with a row for each Nova."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_matrix.DOCS', self.folder / 'table'))
        run_matrix.DOCS.write_text(
            'Nova,Python,highest,added,Passed,Skipped,Failed,Day\n'
            '26,3.9,2.93,2.94,7,1,0,2026-01-01\n')

    def row(self, name):
        """Return what is to be written of a row, in one line."""
        return [' '.join(map(str, line)) for line in run_matrix.written()
                if line[0] == name]

    def test_a_row_that_was_run_here_counts_all_of_its_suites(self):
        self.keep(day='2026-01-02')
        self.keep(suite='functional', passed=400, day='2026-01-03')
        self.assertEqual(
            ['26 3.9 2.93 2.94 1100 4 0 2026-01-03'], self.row('26'))

    def test_a_row_that_was_not_run_whole_here_stays(self):
        self.keep(day='2026-01-02')
        self.assertEqual(['26 3.9 2.93 2.94 7 1 0 2026-01-01'], self.row('26'))

    def test_a_row_that_was_never_run_says_so(self):
        self.assertEqual(['27 3.10 2.95 2.96 not run'], self.row('27'))

    def test_what_is_written_stays(self):
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_matrix.tables.ROOT', self.folder))
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_matrix.tables.OUT',
            console.Console(file=io.StringIO())))
        run_matrix.tables.write_csv(
            run_matrix.DOCS, run_matrix.WRITTEN, run_matrix.written())
        self.assertEqual(['26 3.9 2.93 2.94 7 1 0 2026-01-01'], self.row('26'))
