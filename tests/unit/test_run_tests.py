# SPDX-License-Identifier: Apache-2.0

"""What the runner of the tests starts them with."""

import contextlib
import io
import itertools
import os
import pathlib
import re
import subprocess
import sys
import time

import fixtures
import testtools

from tools import run_tests


class WorkersTest(testtools.TestCase):

    def test_without_a_measurement_the_own_interpreter_runs_them(self):
        self.useFixture(fixtures.EnvironmentVariable('CELL0_REBUILD_COVER'))
        self.useFixture(fixtures.EnvironmentVariable('PYTHON', 'python3.9'))
        self.assertEqual(
            sys.executable, run_tests.environment('unit')['PYTHON'])


TESTS = """
import os
import unittest


class MineTest(unittest.TestCase):

    def test_good(self):
        pass

    def test_bad(self):
        self.assertTrue(os.path.exists('mended'))
"""
BAD, GOOD = (f'tests.{{}}.test_mine.MineTest.test_{name}'
             for name in ('bad', 'good'))


class PartTest(testtools.TestCase):
    """What is left out of "make test"."""

    def test_each_test_is_in_it_with_its_first_data(self):
        for path in (run_tests.ROOT / 'tests/functional').rglob('test_*.py'):
            for name in re.findall(r'def (test_\w+)', path.read_text()):
                for test in (name, f'{name}_1', f'{name}_01_2_90'):
                    self.assertIsNone(re.search(
                        run_tests.FURTHER, f'{path}.ATest.{test}'), test)

    def test_further_data_are_left_out(self):
        for test in ('test_a_2', 'test_a_2_b', 'test_a_09', 'test_a_12_b_c'):
            self.assertRegex(f'tests.functional.ATest.{test}',
                             run_tests.FURTHER)

    def test_what_takes_long_is_there(self):
        for name in itertools.chain(*run_tests.LONG.values()):
            path = run_tests.ROOT / 'tests' / name.replace('.', '/')
            self.assertTrue(path.with_suffix('.py').exists(), name)

    def test_a_service_is_started_once_for_each_test(self):
        for name, is_there in {
                'test_services.ATest.test_a_compute_1_threading': True,
                'test_services.ATest.test_a_compute_2_eventlet': False,
                'test_conf.ATest.test_an_option_2_eventlet': True}.items():
            self.assertEqual(is_there, bool(re.search(
                run_tests.chosen('few-unit'), f'tests.unit.{name}')), name)

    def test_what_takes_long_is_left_out_and_nothing_else_is(self):
        for name, is_there in {
                'functional.requests.test_comparison': False,
                'functional.requests.test_comparison_table': True,
                'unit.wait.test_broken_hosts': True,
                'functional.wait.test_broken_hosts': False}.items():
            suite = name.partition('.')[0]
            self.assertEqual(is_there, bool(re.search(
                run_tests.chosen(f'few-{suite}'),
                f'tests.{name}.ATest.test_it')), name)


class Hidden(fixtures.Fixture):
    """Shows nothing of what is run: it is no result of this run."""

    def _setUp(self):
        sys.stdout.flush()
        shown = os.dup(1)
        self.addCleanup(os.close, shown)
        self.addCleanup(os.dup2, shown, 1)
        self.addCleanup(sys.stdout.flush)
        with open(os.devnull, 'wb') as nowhere:
            os.dup2(nowhere.fileno(), 1)


class ProjectCase(testtools.TestCase):
    """A project of two suites."""

    def setUp(self):
        super().setUp()
        self.useFixture(Hidden())
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for suite in ('unit', 'functional'):
            folder = self.root / 'tests' / suite
            folder.mkdir(parents=True)
            (folder / '__init__.py').touch()
            (folder / 'test_mine.py').write_text(TESTS)
        (self.root / 'tests/__init__.py').touch()
        (self.root / '.stestr.conf').write_text(
            (run_tests.ROOT / '.stestr.conf').read_text())
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_tests.ROOT', self.root))
        self.useFixture(fixtures.MonkeyPatch('tools.run_tests.STATE', None))

    def last(self):
        """Return how "stestr last", typed in the root, says tests ended."""
        command = [str(pathlib.Path(sys.executable).parent / 'stestr'),
                   'last', '--force-subunit-trace']
        shown = subprocess.run(command, cwd=self.root, check=False, text=True,
                               stdout=subprocess.PIPE).stdout
        return {words[1]: words[-1] for words in map(
            str.split, shown.splitlines()) if '...' in words}


class OptionsTest(ProjectCase):
    """What ARGS of make is, or follows "--" in a command of tox."""

    def test_the_results_are_where_stestr_looks(self):
        for suite in ('unit', 'functional'):
            self.assertEqual(1, run_tests.main([suite]))
            self.assertEqual({BAD.format(suite): 'FAILED',
                              GOOD.format(suite): 'ok'}, self.last())

    def test_failing_runs_what_failed(self):
        run_tests.main(['unit'])
        self.assertEqual(1, run_tests.main(['unit', '--failing']))
        self.assertEqual({BAD.format('unit'): 'FAILED'}, self.last())
        (self.root / 'mended').touch()
        self.assertEqual(0, run_tests.main(['unit', '--failing']))
        self.assertEqual({BAD.format('unit'): 'ok'}, self.last())

    def test_an_expression_selects_beside_an_option_that_has_a_value(self):
        self.assertEqual(
            0, run_tests.main(['unit', '--concurrency 1 good']))
        self.assertEqual({GOOD.format('unit'): 'ok'}, self.last())

    def test_serial_is_for_each_suite(self):
        self.assertEqual(
            1, run_tests.main(['unit', 'functional', '--serial', 'good|bad']))
        self.assertEqual({'FAILED', 'ok'}, set(self.last().values()))

    def test_what_stestr_does_not_know_is_refused(self):
        error = self.assertRaises(
            SystemExit, run_tests.main, ['unit', '--faling'])
        self.assertEqual(2, error.code)


SHOWS = """
import unittest


class MineTest(unittest.TestCase):

    def test_shows_what_another_run_does(self):
        print('Totals', ' - Passed: 7', ' - Failed: 1', sep='\\n')
"""


class CountTest(ProjectCase):
    """How many tests ended how."""

    def test_what_a_test_shows_does_not_count(self):
        (self.root / 'tests/unit/test_mine.py').write_text(SHOWS)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            self.assertEqual(0, run_tests.main(['unit']))
        self.assertIn(' - Passed: 7', shown.getvalue())
        self.assertRegex(
            shown.getvalue(), r'unit +1 passed, 0 failed, 0 skipped')


HANGS = """
import time
import unittest


class MineTest(unittest.TestCase):

    def test_good(self):
        pass

    def test_hangs_in_its_cleanup(self):
        self.addCleanup(time.sleep, 600)
"""


class PatternTest(ProjectCase):
    """An expression that selects tests."""

    def shown(self, pattern):
        """Return what is shown, after a run that fails."""
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            self.assertEqual(1, run_tests.main(['unit', pattern]))
        return shown.getvalue()

    def test_one_that_no_test_matches_fails(self):
        self.assertIn('match with anything', self.shown('nothing'))

    def test_a_module_that_cannot_be_loaded_is_told(self):
        (self.root / 'tests/unit/test_broken.py').write_text('import nonsense')
        self.assertIn("No module named 'nonsense'", self.shown('good'))


class SilenceTest(ProjectCase):
    """A test that never ends."""

    def test_it_fails_the_suite_and_tells_where_it_hangs(self):
        (self.root / 'tests/unit/test_mine.py').write_text(HANGS)
        self.useFixture(fixtures.EnvironmentVariable('OS_TEST_TIMEOUT', '2'))
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            self.assertEqual(1, run_tests.main(['unit']))
        self.assertIn('most recent call first', shown.getvalue())
        self.assertIn('doCleanups', shown.getvalue())


MEET = """
import pathlib
import time
import unittest


class MineTest(unittest.TestCase):

    def test_another_suite_runs_now(self):
        pathlib.Path('{mine}').touch()
        end = time.monotonic() + 60
        while not pathlib.Path('{other}').exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
"""


class BesideTest(ProjectCase):
    """A suite that runs beside another."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_tests.BESIDE', ('functional',)))

    def write(self, suite, text):
        (self.root / 'tests' / suite / 'test_mine.py').write_text(text)

    def test_both_run_at_a_time_and_count(self):
        for mine, other in itertools.permutations(('unit', 'functional')):
            self.write(mine, MEET.format(mine=mine, other=other))
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            self.assertEqual(0, run_tests.main(['functional', 'unit']))
        for suite in ('unit', 'functional'):
            self.assertRegex(
                shown.getvalue(), rf'{suite} +1 passed, 0 failed, 0 skipped')

    def test_a_test_that_fails_there_fails_all(self):
        # All tests of the other suite pass.
        self.write('unit', TESTS.replace('mended', '.'))
        self.assertEqual(1, run_tests.main(['functional', 'unit']))

    def test_who_interrupts_one_ends_the_other(self):
        self.useFixture(fixtures.Timeout(120, gentle=True))
        self.write('functional', HANGS)
        run = run_tests.run

        def interrupted(suite, *args):
            if suite == 'functional':
                return run(suite, *args)
            while not run_tests.RUNNING:
                time.sleep(0.1)
            raise KeyboardInterrupt

        self.useFixture(fixtures.MonkeyPatch(
            'tools.run_tests.run', interrupted))
        self.assertRaises(
            KeyboardInterrupt, run_tests.main, ['unit', 'functional'])
        self.assertEqual(set(), run_tests.RUNNING)
