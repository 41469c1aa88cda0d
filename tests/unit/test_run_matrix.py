# SPDX-License-Identifier: Apache-2.0

"""The matrix is green if the tests of each row were run and have passed."""

import contextlib
import io
import os
import pathlib
import sys

import ddt
import fixtures
import testtools

from tools import run_matrix

# The day and the commit that a row is of.
MEASURED = '2026-02-03', 'abc1234'


@ddt.ddt
class MatrixTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, path in {'ROOT': '.', 'STATE': 'state',
                           'DOCS': 'table'}.items():
            self.useFixture(fixtures.MonkeyPatch(
                f'tools.run_matrix.{name}', self.root / path))
        self.useFixture(fixtures.MonkeyPatch(
            'tools.tables.measured', lambda: MEASURED))
        run_matrix.DOCS.write_text(
            'Nova,Python,highest,added,Passed,Skipped,Failed,Day,Commit\n'
            '26,3.9,2.93,2.94,7,1,0,2026-01-01,1234abc\n')

    def matrix(self, *arguments, says, builds=True):
        """Run the matrix and return its exit code.

        :param says: what the tests of a suite say at their end.
        :param builds: whether there is an environment.
        """
        (self.root / 'tools').mkdir()
        build = self.root / 'tools/environment.sh'
        build.write_text(
            f'#!/bin/sh\nmkdir -p $1/bin && ln -sf {sys.executable} '
            f'$1/bin/python && {str(builds).lower()}\n')
        os.chmod(build, 0o755)
        (self.root / 'tools/run_tests.py').write_text(f'print({says!r})')
        self.useFixture(fixtures.MonkeyPatch(
            'sys.argv', ['run_matrix.py', *arguments]))
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            code = run_matrix.main()
        self.shown = shown.getvalue()
        return code

    @ddt.data(
        ('26', '7 passed, 0 failed, 2 skipped', 0),
        ('26', '7 passed, 1 failed, 0 skipped', 1),
        ('26', '0 passed, 0 failed, 0 skipped', 1),
        # The newest has all that a test needs.
        ('34', '7 passed, 0 failed, 0 skipped', 0),
        ('34-py313', '7 passed, 0 failed, 2 skipped', 1))
    @ddt.unpack
    def test_it_is_green_if_all_passed(self, row, counts, code):
        self.assertEqual(code, self.matrix(
            row, '--suites', 'unit', says=f'unit      {counts} in 3 s'))
        self.assertIn(f'{row}: unit: {counts}', self.shown)
        self.assertEqual(bool(code), f'FAILED: unit on {row}' in self.shown)

    def test_it_is_not_if_a_suite_does_not_end(self):
        self.assertEqual(1, self.matrix('26', says='nothing'))

    def test_it_is_not_without_an_environment(self):
        self.assertEqual(1, self.matrix(
            '26', says='unit 7 passed, 0 failed, 0 skipped in 3 s',
            builds=False))

    def test_a_row_that_was_run_counts_all_of_its_suites(self):
        self.matrix('26', '--write-docs',
                    says='it 7 passed, 1 failed, 2 skipped in 3 s')
        written = run_matrix.DOCS.read_text()
        self.assertIn(
            '\n26,3.9,2.93,2.94,14,4,2,2026-02-03,abc1234\n', written)
        self.assertIn('\n27,3.10,2.95,2.96,not run\n', written)

    def test_a_row_that_was_not_run_stays(self):
        self.matrix('27', '--write-docs',
                    says='it 7 passed, 1 failed, 2 skipped in 3 s')
        self.assertIn('\n26,3.9,2.93,2.94,7,1,0,2026-01-01,1234abc\n',
                      run_matrix.DOCS.read_text())
