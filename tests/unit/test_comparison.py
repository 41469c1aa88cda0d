# SPDX-License-Identifier: Apache-2.0

"""When a test of others ends differently with the package than without."""

import importlib
import pathlib

import fixtures
import testtools

from tools import run_tests


class Bar:
    """A progress display that nobody sees."""

    def add_task(self, *args, **kwargs):
        return None

    def update(self, *args, **kwargs):
        pass


class ComparisonTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # The tools are programs, which find each other in their folder.
        self.useFixture(fixtures.PythonPathEntry(
            str(run_tests.ROOT / 'tools')))
        self.comparison = importlib.import_module('comparison')
        folder = self.useFixture(fixtures.TempDir()).path
        self.results = self.comparison.Results(
            pathlib.Path(folder), '1.0', again=False)

    def end(self, mode, alone=False, **ends):
        """Have tests end, by their names."""
        log = self.comparison.Log(
            mode, ends, Bar(), self.results.paths[mode], alone)
        for name, status in ends.items():
            log({'id': name, 'status': status, 'details': {}})

    def run_both(self, stock, enabled):
        """Have the test "it" end without the package and with it."""
        self.end('stock', it=stock)
        self.end('enabled', it=enabled)

    def test_what_fails_only_with_the_package_is_worse_and_different(self):
        self.run_both('success', 'fail')
        self.assertEqual(['it'], self.results.only_without(['it']))
        self.assertEqual(['it'], self.results.different(['it']))

    def test_what_is_skipped_only_without_the_package_is_different(self):
        self.run_both('skip', 'success')
        self.assertEqual([], self.results.only_without(['it']))
        self.assertEqual(['it'], self.results.different(['it']))

    def test_what_ends_alike_is_neither(self):
        for status in ('success', 'fail', 'skip'):
            self.run_both(status, status)
            self.assertEqual([], self.results.only_without(['it']))
            self.assertEqual([], self.results.different(['it']))

    def test_how_it_ends_alone_is_what_counts(self):
        self.run_both('success', 'fail')
        self.end('enabled', it='success', alone=True)
        self.assertEqual([], self.results.different(['it']))
        self.assertEqual(['it'], self.results.failed(['it']))

    def test_what_failed_in_one_way_is_run_alone_in_both(self):
        ran = []

        def run(mode, tests, alone):
            ran.append((mode, tests, alone))
            if not alone:
                self.end(mode, well='success',
                         ill='fail' if mode == 'enabled' else 'success')

        self.comparison.run_all(run, ['well', 'ill'], self.results)
        self.assertEqual([('enabled', ['well', 'ill'], False),
                          ('stock', ['well', 'ill'], False),
                          ('stock', ['ill'], True),
                          ('enabled', ['ill'], True)], ran)

    def test_the_short_table_sums_up_all_groups(self):
        rows = [('some', 3, 2, 0, 1, 1, 1, 1, 1),
                ('all', 9, 7, 0, 2, 6, 1, 2, 1)]
        self.assertEqual(
            [('passed', 7, 6), ('failed', 0, 1), ('skipped', 2, 2),
             ('ended otherwise', '', 1)], self.comparison.short(rows))

    def test_what_happens_to_a_class_happens_to_its_tests(self):
        tempest = importlib.import_module('compare_tempest')
        tests = ['a.One.it[id-1]', 'a.OneMore.it[id-2]']
        log = tempest.Log('enabled', tests, Bar(),
                          self.results.paths['enabled'], False)
        for name, status in {'setUpClass (a.One)': 'skip',
                             'a.OneMore.it[id-2]': 'success',
                             'tearDownClass (a.OneMore)': 'fail'}.items():
            log({'id': name, 'status': status, 'details': {}})
        self.assertEqual(
            ['skipped', 'failed'],
            [self.results.read('enabled')[test]['outcome'] for test in tests])
