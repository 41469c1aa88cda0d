# SPDX-License-Identifier: Apache-2.0

"""Which tests a mutant meets, and what is said of it."""

import argparse
import contextlib
import importlib.util
import io
import pathlib
import sys
import time

import fixtures
import testtools

from tools import run_tests

FOLDER = run_tests.ROOT / 'tools/mutants'
KILLED = 'killed (0 by the time, 0 by an import)'
CODE = """
import os

class Thing:
    LIMIT = 7

    def act(self):
        try:
            return os.getpid(
                )
        except OSError:
            pass
"""


def load(name):
    """Return a module of the folder, which is no package."""
    spec = importlib.util.spec_from_file_location(
        f'mutants_{name}', FOLDER / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class MutantsTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch('sys.path', [
            str(FOLDER), str(FOLDER.parent), *sys.path]))
        self.main, self.testing = load('__main__'), load('testing')


class SourcesTest(MutantsTestCase):

    def test_each_pattern_finds_a_module(self):
        self.assertEqual([], [
            pattern for pattern in self.main.SOURCES
            if not self.main.mutated(run_tests.ROOT, [pattern])])

    def test_each_module_that_moves_a_server_is_changed(self):
        moving = (run_tests.ROOT / 'cell0_rebuild/move').rglob('*.py')
        self.assertEqual(set(), {
            str(path.relative_to(run_tests.ROOT)) for path in moving
        } - set(self.main.mutated(run_tests.ROOT)))

    def test_no_module_is_found_twice(self):
        found = self.main.mutated(run_tests.ROOT)
        self.assertEqual(sorted(set(found)), sorted(found))


class ReachTest(MutantsTestCase):

    def test_tests_in_every_folder_of_a_suite_are_measured(self):
        source = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        wanted = {source / 'tests' / name for name in (
            'unit/test_a.py', 'unit/deeper/test_b.py',
            'functional/test_c.py', 'functional/deeper/test_d.py')}
        others = {source / 'tests' / name for name in (
            'unit/support.py', 'integration/test_e.py')}
        for path in wanted | others:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self.assertEqual(wanted, set(self.main.modules(source, '')))
        self.assertEqual(
            {source / 'tests/unit/deeper/test_b.py'},
            set(self.main.modules(source, 'unit/deeper')))

    def test_a_line_is_known_by_its_function_and_its_statement(self):
        keys = self.testing.keys_of(CODE)
        self.assertEqual(('', 'LIMIT = 7'), (
            keys[5][0].removeprefix('.Thing'), keys[5][1]))
        for line in (9, 10):
            self.assertEqual(('.Thing.act', 'return os.getpid('), keys[line])
        self.assertEqual(('.Thing.act', 'except OSError:'), keys[11])

    def test_a_decorator_and_a_default_are_known_by_their_function(self):
        keys = self.testing.keys_of(
            'class Thing:\n'
            '    @property\n'
            '    def act(self, many=2,\n'
            '            deep=3):\n'
            '        return many\n')
        self.assertEqual(
            [('.Thing.act', '')] * 3, [keys[line] for line in (2, 3, 4)])
        self.assertEqual(('.Thing.act', 'return many'), keys[5])

    def test_what_matters_to_all_of_a_function_meets_all_that_reach_it(self):
        source = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (source / 'a.py').write_text('@once\ndef act():\n    return 1\n')
        self.assertEqual({'test': 1}, self.main.reaching(
            source, {'path': 'a.py', 'line': 1}, {
                ('a.py', '.act', 'return 1'): {'test': 1},
                ('a.py', '.other', 'return 1'): {'another': 1}}))

    def test_a_line_above_changes_no_key(self):
        keys = self.testing.keys_of(CODE)
        later = self.testing.keys_of(f'import sys\n{CODE}')
        self.assertEqual(keys[9], later[10])

    def test_the_fastest_of_each_module_come_first(self):
        self.assertEqual(
            ['b.T.fast', 'a.T.medium', 'b.T.medium'], self.main.choice({
                'a.T.slow': 9, 'a.T.medium': 2, 'b.T.fast': 1.5,
                'b.T.medium': 3}, 3))

    def test_quick_ones_are_all_run(self):
        self.assertEqual(
            ['a.T.first', 'a.T.second', 'a.T.third'], self.main.choice({
                'a.T.first': 0.1, 'a.T.second': 0.2, 'a.T.third': 0.3,
                'a.T.slow': 9}, 1))


class EachTest(MutantsTestCase):

    def test_what_takes_too_long_is_ended(self):
        ended = {name: code for name, _, code in self.testing.each([
            ('good', lambda: 0, 60), ('bad', lambda: 1, 60),
            ('endless', lambda: time.sleep(600), 1)], 3)}
        self.assertEqual(0, ended['good'])
        self.assertNotIn(ended['bad'], (0, None))
        self.assertIsNone(ended['endless'])


class TriedTest(MutantsTestCase):

    def tried(self, code, alone):
        """Return the outcome of a mutant.

        :param code: that of the run with it.
        :param alone: that of the test that has failed, without it.
        """
        source = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'it'
        source.mkdir()
        (source / 'a.py').write_text('a = 1\n')

        def each(tasks, jobs):
            for name, *_ in tasks:
                if isinstance(name, str):
                    yield name, 1, alone
                else:
                    (name[1] / 'killer').write_text('a.Test.test')
                    yield name, 1, code
        self.useFixture(fixtures.MonkeyPatch('testing.each', each))
        self.useFixture(fixtures.MonkeyPatch(
            'testing.run_tests.ROOT', source))
        main = load('__main__')
        main.STATE = source
        mutant = {'path': 'a.py', 'line': 1, 'code': 'a = 2\n'}
        [(_, outcome, by)] = main.tried(
            source, [mutant], {('a.py', '', 'a = 1'): {'a.Test.test': 1}},
            argparse.Namespace(again=True, tests=10, jobs=1), float('inf'))
        return outcome, by

    def test_a_test_that_fails_kills_it(self):
        self.assertEqual(('killed', 'a.Test.test'), self.tried(1, 0))

    def test_a_test_that_fails_without_it_kills_nothing(self):
        self.assertEqual(
            ('survived', 'a.Test.test fails without it, too'),
            self.tried(1, 1))

    def test_what_never_ends_is_killed_by_the_time(self):
        self.assertEqual(('killed', 'the time'), self.tried(None, 1))

    def test_what_no_test_notices_survives(self):
        self.assertEqual('survived', self.tried(0, 0)[0])


class ReportTest(MutantsTestCase):

    def setUp(self):
        super().setUp()
        self.source = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.source / 'tools/mutants').mkdir(parents=True)
        (self.source / 'a.py').write_text('a = 1\n')
        self.explain([])
        self.mutant = {'path': 'a.py', 'line': 1, 'change': 'Number',
                       'code': 'a = 2\n'}

    def explain(self, entries):
        (self.source / 'tools/mutants/explained.yaml').write_text(
            repr(entries))

    def report(self, *outcomes):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = self.main.report(
                self.source, [self.mutant] * len(outcomes),
                [(self.mutant, outcome, '') for outcome in outcomes])
        return code, out.getvalue().splitlines()[-1]

    def test_a_survivor_makes_the_run_fail(self):
        self.assertEqual(
            (1, f'2 of 2 mutants: 1 {KILLED}, 0 explained, 1 survived'),
            self.report('killed', 'survived'))

    def test_an_explained_survivor_does_not(self):
        self.explain_in('')
        self.assertEqual(
            (0, f'1 of 1 mutants: 0 {KILLED}, 1 explained, 0 survived'),
            self.report('survived'))

    def test_what_is_explained_elsewhere_is_a_survivor(self):
        self.explain_in('another_function')
        self.assertEqual(1, self.report('survived')[0])

    def explain_in(self, function):
        self.explain([{
            'file': 'a.py', 'in': function, 'was': 'a = 1',
            'becomes': 'a = 2', 'because': 'nobody reads it'}])

    def test_a_run_without_any_has_shown_nothing(self):
        self.assertEqual(1, self.report()[0])
