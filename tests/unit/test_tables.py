# SPDX-License-Identifier: Apache-2.0

"""A table of the documentation tells the day and the code that it is of."""

import contextlib
import datetime
import io
import pathlib
import subprocess

import fixtures
import testtools

from tools import tables


class TableTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.MonkeyPatch('tools.tables.ROOT', self.root))
        self.module = self.root / 'cell0_rebuild/module.py'
        self.module.parent.mkdir()
        self.module.touch()
        self.git('init', '--quiet')
        self.commit = self.committed()

    def git(self, *words):
        return subprocess.check_output(
            ('git', *words), cwd=self.root, text=True).strip()

    def committed(self):
        self.git('add', '.')
        self.git('-c', 'user.name=n', '-c', 'user.email=n@localhost',
                 'commit', '--quiet', '--message', 'One')
        return self.git('rev-parse', '--short', 'HEAD')

    def title(self):
        page = self.root / 'a-table.rst'
        with contextlib.redirect_stdout(io.StringIO()):
            tables.write(page, 'tools/some', ('one', 'two'), [(1, 2)])
        return page.read_text().splitlines()[2]

    def test_it_tells_the_day_and_the_commit(self):
        self.assertEqual(
            f'.. list-table:: Measured on {datetime.date.today()}, '
            f'of {self.commit}', self.title())

    def test_other_files_change_no_code(self):
        (self.root / 'README.rst').touch()
        self.assertNotEqual(self.commit, self.committed())
        self.assertTrue(self.title().endswith(f'of {self.commit}'))

    def test_it_tells_that_a_change_is_in_no_commit(self):
        self.module.write_text('changed = True')
        self.assertTrue(self.title().endswith(f'of {self.commit}+'))
