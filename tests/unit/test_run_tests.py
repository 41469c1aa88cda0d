# SPDX-License-Identifier: Apache-2.0

"""What the runner of the tests starts them with."""

import itertools
import pathlib
import re
import shutil
import subprocess
import sys

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
                run_tests.chosen('few'), f'tests.unit.{name}')), name)

    def test_what_takes_long_is_left_out_and_nothing_else_is(self):
        for name, is_there in {
                'functional.requests.test_comparison': False,
                'functional.requests.test_comparison_table': True,
                'unit.wait.test_broken_hosts': True,
                'functional.wait.test_broken_hosts': False}.items():
            self.assertEqual(is_there, bool(re.search(
                run_tests.chosen('few'), f'tests.{name}.ATest.test_it')), name)


class ProjectCase(testtools.TestCase):
    """A project of three suites, of which "make test" runs one beside."""

    def setUp(self):
        super().setUp()
        # The matrix keeps the results of these tests themselves elsewhere.
        self.useFixture(fixtures.EnvironmentVariable('CELL0_REBUILD_STATE'))
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for suite in ('unit', 'functional', 'integration'):
            self.write(suite, TESTS)
            (self.root / 'tests' / suite / '__init__.py').touch()
        (self.root / 'tools').mkdir()
        for path in ('tools/run_tests.py', 'tests/__init__.py', '.stestr.conf',
                     'tests/signatures.py', 'tests/suites.yaml'):
            shutil.copy(run_tests.ROOT / path, self.root / path)

    def write(self, suite, text, name='test_mine'):
        """Write a module of tests."""
        folder = self.root / 'tests' / suite
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f'{name}.py').write_text(text)

    def run_tests(self, *arguments):
        """Return the exit code of the command, and what it says."""
        ran = subprocess.run(
            [sys.executable, 'tools/run_tests.py', *arguments], cwd=self.root,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        return ran.returncode, ran.stdout

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

    def test_the_results_are_told_and_are_where_stestr_looks(self):
        for suite in ('unit', 'functional'):
            code, shown = self.run_tests(suite)
            self.assertEqual(1, code)
            self.assertEqual({BAD.format(suite): 'FAILED',
                              GOOD.format(suite): 'ok'}, self.last())
            self.assertIn(f'{BAD.format(suite)}\n------', shown)
            # The slowest.
            self.assertRegex(shown, rf'\n{GOOD.format(suite)} +0\.')
            self.assertRegex(
                shown, rf'{suite} +1 passed, 1 failed, 0 skipped in \d+ s\n'
                       rf'    {re.escape(BAD.format(suite))}: '
                       rf'AssertionError: False is not true\n$')

    def test_what_was_only_logged_is_not_told_as_the_error(self):
        self.write('unit', LOGS)
        self.assertRegex(
            self.run_tests('unit')[1],
            rf'\n    {re.escape(BAD.format("unit"))}: '
            rf'tests\.unit\.test_mine\.Gone: mine\n$')

    def test_failing_runs_what_failed(self):
        self.run_tests('unit')
        self.assertEqual(1, self.run_tests('unit', '--failing')[0])
        self.assertEqual({BAD.format('unit'): 'FAILED'}, self.last())
        (self.root / 'mended').touch()
        self.assertEqual(0, self.run_tests('unit', '--failing')[0])
        self.assertEqual({BAD.format('unit'): 'ok'}, self.last())

    def test_an_expression_selects_beside_an_option_that_has_a_value(self):
        self.assertEqual(0, self.run_tests('unit', '--concurrency 1 good')[0])
        self.assertEqual({GOOD.format('unit'): 'ok'}, self.last())

    def test_what_stestr_does_not_know_is_refused(self):
        self.assertEqual(2, self.run_tests('unit', '--faling')[0])


LOGS = """
import testtools
from testtools import content


class Gone(Exception):
    pass


class MineTest(testtools.TestCase):

    def test_bad(self):
        self.addDetail('pythonlogging', content.text_content(
            'Traceback:\\n  File "a.py", line 1\\nValueError: logged'))
        raise Gone('mine')
"""


HANGS = """
import time
import testtools


class MineTest(testtools.TestCase):

    def test_good(self):
        pass

    def test_hangs_in_its_cleanup(self):
        self.addCleanup(time.sleep, 600)
"""


class PatternTest(ProjectCase):
    """An expression that selects tests."""

    def test_one_that_no_test_matches_fails(self):
        code, shown = self.run_tests('unit', 'nothing')
        self.assertEqual(1, code)
        self.assertIn('match with anything', shown)

    def test_one_may_match_tests_of_one_suite_only(self):
        self.assertEqual(
            0, self.run_tests('unit', 'functional', 'unit.*good')[0])
        self.assertEqual(
            1, self.run_tests('unit', 'functional', 'unit.*bad')[0])

    def test_the_only_module_of_its_name_is_loaded_alone(self):
        self.write('unit', 'import nonsense', 'test_broken')
        self.assertEqual(1, self.run_tests('unit', 'test_mine')[0])
        self.assertEqual({BAD.format('unit'): 'FAILED',
                          GOOD.format('unit'): 'ok'}, self.last())

    def test_a_module_that_cannot_be_loaded_is_told(self):
        self.write('unit', 'import nonsense', 'test_broken')
        code, shown = self.run_tests('unit', 'functional', 'good')
        self.assertEqual(1, code)
        self.assertIn("No module named 'nonsense'", shown)


class HangTest(ProjectCase):
    """A test that never ends."""

    def test_it_fails_and_tells_where_it_hangs(self):
        self.write('unit', HANGS)
        self.useFixture(fixtures.EnvironmentVariable('OS_TEST_TIMEOUT', '1'))
        code, shown = self.run_tests('unit')
        self.assertEqual(1, code)
        self.assertIn('Timeout (0:00:10)!', shown)
        self.assertIn(' in _run_cleanups\n', shown)
        self.assertTrue(shown.endswith(
            '    tests.unit.test_mine.MineTest.test_hangs_in_its_cleanup: '
            'see above\n'), shown)


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

    def test_both_run_at_a_time_and_count(self):
        for mine, other in itertools.permutations(('unit', 'integration')):
            self.write(mine, MEET.format(mine=mine, other=other))
        code, shown = self.run_tests('few-integration', 'unit')
        self.assertEqual(0, code)
        for suite in ('unit', 'few-integration'):
            self.assertRegex(
                shown, rf'{suite} +1 passed, 0 failed, 0 skipped')

    def test_a_test_that_fails_there_fails_all(self):
        # All tests of the other suite pass.
        self.write('unit', TESTS.replace('mended', '.'))
        code, shown = self.run_tests('few-integration', 'unit')
        self.assertEqual(1, code)
        self.assertIn(f'{BAD.format("integration")}\n------', shown)
