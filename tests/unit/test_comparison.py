# SPDX-License-Identifier: Apache-2.0

"""When a test of others ends differently with the package than without."""

import importlib
import pathlib

import fixtures
from rich import console
import testtools

from tools import run_tests


class ComparisonTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # The tools are programs, which find each other in their folder.
        self.useFixture(fixtures.PythonPathEntry(
            str(run_tests.ROOT / 'tools')))
        self.compare = importlib.import_module('compare')
        self.useFixture(fixtures.MonkeyPatch(
            'compare.OUT', console.Console(quiet=True)))
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.found = self.comparison(self.compare.Tempest())

    def comparison(self, suite):
        """Return what compares a suite."""
        return self.compare.Comparison(suite, self.folder)

    def end(self, mode, alone=False, **ends):
        """Have tests end, by their names."""
        log = self.compare.Log(ends, self.found.paths[mode], alone)
        for name, status in ends.items():
            log({'id': name, 'status': status, 'details': {}})

    def wrong(self, suite):
        """Return what is wrong with the tests of a suite that have ended."""
        found = self.comparison(suite)
        found.paths = self.found.paths
        return found.wrong(['it'])

    def run_both(self, stock, enabled):
        """Have the test "it" end without the package and with it."""
        self.end('stock', it=stock)
        self.end('enabled', it=enabled)

    def test_what_fails_only_with_the_package_is_wrong(self):
        self.run_both('success', 'fail')
        self.assertEqual(['it'], self.wrong(self.compare.Nova()))
        self.assertEqual(['it'], self.wrong(self.compare.Tempest()))

    def test_what_tempest_skips_only_without_the_package_is_wrong(self):
        self.run_both('skip', 'success')
        self.assertEqual([], self.wrong(self.compare.Nova()))
        self.assertEqual(['it'], self.wrong(self.compare.Tempest()))

    def test_what_ends_alike_is_not(self):
        for status in ('success', 'fail', 'skip'):
            self.run_both(status, status)
            self.assertEqual([], self.wrong(self.compare.Nova()))
            self.assertEqual([], self.wrong(self.compare.Tempest()))

    def test_what_does_not_end_is_wrong(self):
        self.assertEqual(['it'], self.wrong(self.compare.Nova()))

    def test_how_it_ends_alone_is_what_counts(self):
        self.run_both('success', 'fail')
        self.end('enabled', it='success', alone=True)
        self.assertEqual([], self.found.wrong(['it']))
        self.assertEqual(['it'], self.found.failed(['it']))

    def test_what_failed_in_one_way_is_run_alone_in_both(self):
        ran = []

        class Suite(self.compare.Tempest):

            def run(self, mode, tests, log, options):
                ran.append((mode, tests, options[-1]))
                for name in tests:
                    log({'id': name, 'details': {}, 'status': 'fail' if (
                        name, mode) == ('a.B.ill', 'enabled') else 'success'})

        tests = ['a.B.well', 'a.B.ill']
        found = self.comparison(Suite())
        found.run(tests, 3)
        self.assertEqual([('enabled', tests, '3'), ('stock', tests, '3'),
                          ('stock', ['a.B.ill'], '1'),
                          ('enabled', ['a.B.ill'], '1')], ran)
        # What has ended is not run again.
        found.run(tests, 3)
        self.assertEqual(4, len(ran))
        self.assertEqual([('a', 2, 2, 0, 0, 1, 1, 0, 1),
                          ('all', 2, 2, 0, 0, 1, 1, 0, 1)], found.rows(tests))

    def test_the_short_table_sums_up_all_modules(self):
        rows = [('some', 3, 2, 0, 1, 1, 1, 1, 1),
                ('all', 9, 7, 0, 2, 6, 1, 2, 1)]
        self.assertEqual(
            [('passed', 7, 6), ('failed', 0, 1), ('skipped', 2, 2),
             ('not as without', '', 1)], self.compare.short(rows))

    def test_what_happens_to_a_class_happens_to_its_tests(self):
        tests = ['a.One.it[id-1]', 'a.OneMore.it[id-2]']
        log = self.compare.Log(tests, self.found.paths['enabled'], False)
        for name, status in {'setUpClass (a.One)': 'skip',
                             'a.OneMore.it[id-2]': 'success',
                             'tearDownClass (a.OneMore)': 'fail'}.items():
            log({'id': name, 'status': status, 'details': {}})
        self.assertEqual(
            ['skipped', 'failed'],
            [self.found.read('enabled')[test]['outcome'] for test in tests])
