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

TEXT = '''One.

.. Begin of what a command writes.
{}
.. End of what a command writes.

Two.
'''
TABLE = '''
==== ======
Nova Passed
==== ======
26   1
33   200
==== ======
'''


def counted(passed):
    """Return the result of a suite that has passed."""
    return {'stamp': 'now', 'passed': passed, 'failed': 0, 'skipped': 1,
            'seconds': 10}


@ddt.ddt
class GreenTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_matrix.STATE', self.folder))

    def keep(self, row='26', **changes):
        """Keep a result of the unit tests on a row."""
        (self.folder / f'{row}-unit.json').write_text(json.dumps({
            'stamp': run_matrix.stamp(row, 'unit'), 'passed': 700,
            'failed': 0, 'skipped': 18, 'seconds': 100, **changes}))

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

    def test_the_short_table_counts_only_complete_rows(self):
        self.keep()
        [row] = [row for row in run_matrix.in_short() if row[0] == '26']
        self.assertEqual(
            ('26', '3.9', '2.94', *['not run'] * 4), row)
        (self.folder / '26-functional.json').write_text(json.dumps({
            'stamp': run_matrix.stamp('26', 'functional'), 'passed': 400,
            'failed': 1, 'skipped': 5, 'seconds': 1000}))
        [row] = [row for row in run_matrix.in_short() if row[0] == '26']
        self.assertEqual(('26', '3.9', '2.94', 1100, 23, 1, 1100), row)


class RecordedTest(testtools.TestCase):
    """27 was run on another machine, 28 here, and each on both."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        for name, value in {
            'STATE': self.folder, 'RECORD': self.folder / 'record',
            'DOCS': self.folder / 'table', 'README': self.folder / 'readme',
            'ROOT': self.folder, 'tables.ROOT': self.folder,
            'OUT': console.Console(file=io.StringIO()), '_recorded': {},
            'stamp': lambda *of_what: 'now',
        }.items():
            self.useFixture(fixtures.MonkeyPatch(
                f'tools.run_matrix.{name}', value))
        run_matrix.RECORD.write_text(json.dumps(
            {'27-unit': counted(7), '28-unit': counted(8)}))
        run_matrix.README.write_text(TEXT.format('').replace(
            'a command', 'tools/run_matrix.py'))
        (self.folder / '28-unit.json').write_text(json.dumps(counted(9)))

    def show(self, *arguments):
        """Show the unit tests on 27 and 28 and return the exit code."""
        self.useFixture(fixtures.MonkeyPatch('sys.argv', [
            'run_matrix.py', '--show', '--suites', 'unit', *arguments,
            '27', '28']))
        return run_matrix.main()

    def test_what_another_machine_has_run_does_not_count_by_itself(self):
        self.assertEqual(1, self.show())
        self.assertIsNone(run_matrix.result('27', 'unit'))

    def test_what_another_machine_has_run_counts_if_asked_for(self):
        self.assertEqual(0, self.show('--recorded'))
        self.assertEqual(7, run_matrix.result('27', 'unit')['passed'])

    def test_what_was_run_here_comes_first(self):
        self.show('--recorded')
        self.assertEqual(9, run_matrix.result('28', 'unit')['passed'])

    def test_what_another_machine_has_run_stays_recorded(self):
        self.show('--write-docs')
        self.assertEqual(
            {'27-unit': counted(7), '28-unit': counted(9)},
            json.loads(run_matrix.RECORD.read_text()))


class TableTest(testtools.TestCase):

    def test_it_replaces_the_one_between_two_comments(self):
        path = run_matrix.ROOT / 'README.rst'
        found = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'a'
        self.useFixture(fixtures.MonkeyPatch('tables.ROOT', found.parent))
        self.assertIn('.. Begin of what tools/run_matrix.py writes.\n',
                      path.read_text())
        found.write_text(TEXT.format('\nan old one\n'))
        for _ in range(2):
            run_matrix.tables.write_between(
                console.Console(file=io.StringIO()), found, 'a command',
                ('Nova', 'Passed'), [('26', 1), ('33', 200)])
            self.assertEqual(TEXT.format(TABLE), found.read_text())
