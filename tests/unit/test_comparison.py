# SPDX-License-Identifier: Apache-2.0

"""When a test of others ends differently with the package than without."""

import contextlib
import importlib
import io

import ddt
import fixtures
import testtools

from tools import run_tests

TESTS = ['a.B.well', 'a.B.it']


@ddt.ddt
class ComparisonTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # The tools are programs, which find each other in their folder.
        self.useFixture(fixtures.PythonPathEntry(
            str(run_tests.ROOT / 'tools')))
        self.compare = importlib.import_module('compare')

    def compared(self, kind, **ends):
        """Return what has compared tests.

        :param kind: the name of a suite.
        :param ends: how "it" ends in each mode, and then alone; None stands
            for not at all. The others pass.
        """
        ran = self.ran = []
        left = {mode: list(of) for mode, of in ends.items()}

        class Comparison(self.compare.Comparison):

            def _run(self, mode, tests, jobs='3'):
                ran.append((mode, tests, jobs))
                for name in tests:
                    status = left[mode].pop(0) if name == 'a.B.it' else (
                        'success')
                    if status:
                        self._keep(mode, id=name, status=status, details={})

        found = Comparison(getattr(self.compare, kind)(), TESTS)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            found.run()
            found.show()
        self.shown = shown.getvalue()
        return found

    @ddt.data('Nova', 'Tempest')
    def test_what_fails_only_with_the_package_is_wrong(self, kind):
        found = self.compared(
            kind, stock=['success'] * 2, enabled=['fail'] * 2)
        self.assertEqual(['a.B.it'], found.wrong())
        self.assertIn('FAILED  not as without the package: a.B.it', self.shown)
        self.assertIn('enabled: 1 passed, 1 failed\n', self.shown)

    @ddt.data(('Nova', []), ('Tempest', ['a.B.it']))
    @ddt.unpack
    def test_what_is_skipped_without_the_package_matters(self, kind, wrong):
        found = self.compared(kind, stock=['skip'], enabled=['success'])
        self.assertEqual(wrong, found.wrong())

    @ddt.data('success', 'fail', 'skip')
    def test_what_ends_alike_is_not_wrong(self, status):
        for kind in ('Nova', 'Tempest'):
            found = self.compared(
                kind, stock=[status] * 2, enabled=[status] * 2)
            self.assertEqual([], found.wrong())

    @ddt.data(*(
        (kind, without, with_us) for kind in ('Nova', 'Tempest')
        for without, with_us in ((None, None), ('success', None),
                                 (None, 'fail'))))
    @ddt.unpack
    def test_what_does_not_end_is_wrong(self, kind, without, with_us):
        found = self.compared(
            kind, stock=[without] * 2, enabled=[with_us] * 2)
        self.assertEqual(['a.B.it'], found.wrong())

    def test_how_it_ends_alone_is_what_counts(self):
        found = self.compared('Nova', stock=['success', 'success'],
                              enabled=['fail', 'success'])
        self.assertEqual([], found.wrong())

    @ddt.data(('Nova', ['a.B.it']), ('Tempest', TESTS))
    @ddt.unpack
    def test_what_failed_in_one_way_is_run_alone_in_both(self, kind, without):
        self.compared(kind, stock=['success'] * 2, enabled=['fail'] * 2)
        self.assertEqual(
            [('enabled', TESTS, '3'), ('stock', without, '3'),
             ('stock', ['a.B.it'], '1'), ('enabled', ['a.B.it'], '1')],
            self.ran)

    def test_what_happens_to_a_class_happens_to_its_tests(self):
        tests = ['a.One.it[id-1]', 'a.OneMore.it[id-2]']
        found = self.compare.Comparison(self.compare.Tempest(), tests)
        for name, status in {'setUpClass (a.One)': 'skip',
                             'a.OneMore.it[id-2]': 'success',
                             'tearDownClass (a.OneMore)': 'fail'}.items():
            found._keep('enabled', id=name, status=status, details={})
        self.assertEqual(dict(zip(tests, ['skipped', 'failed'])),
                         found.ends['enabled'])
