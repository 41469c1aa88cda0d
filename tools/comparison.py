# SPDX-License-Identifier: Apache-2.0

"""How tests of others end with the package and without, kept and compared.

What has a result is not run again until a file of the package changes, so
that a run which was interrupted goes on where it was. A test that failed with
the package or without is run again alone in both ways.
"""

import argparse
import collections
import json
import os
import tempfile

from rich import progress

import results as logs
import run_tests
import tables

OUT = run_tests.OUT
STOCK, ENABLED = MODES = ('stock', 'enabled')
ENDS = ('passed', 'failed', 'skipped')
SHORT_HEADER = ('tests that', 'without the package', 'with it')


class Log(run_tests.Report):
    """Keeps how each test ended."""

    def __init__(self, title, tests, bar, path, alone):
        super().__init__(title, len(tests), bar)
        self._tests, self._path, self._alone = tests, path, alone

    def tell(self, test, outcome):
        line = {'test': test['id'], 'outcome': outcome, 'alone': self._alone}
        if outcome == 'failed':
            line['why'] = run_tests.traceback_of(test)
        with open(self._path, 'a', encoding='utf-8') as file:
            print(json.dumps(line), file=file)


def parser(description, pattern=''):
    """Return a parser of the options of every comparison.

    :param description: of the command; its first line is shown.
    :param pattern: of the tests that are run if none is given.
    """
    made = argparse.ArgumentParser(description=description.split('\n')[0])
    made.add_argument('--write-docs', action='store_true',
                      help='write what was counted into the documentation')
    made.add_argument('--again', action='store_true',
                      help='forget the results there are')
    made.add_argument('--jobs', type=int, default=os.cpu_count())
    made.add_argument('pattern', nargs='?', default=pattern, metavar='PATTERN')
    made.set_defaults(quick=False)
    return made


class Results:
    """How the tests ended, by mode, in this run and in those before it.

    :param folder: that they are kept in.
    :param version: of the tests.
    :param again: forget those of before.
    """

    def __init__(self, folder, version, again):
        stamp = logs.stamp(['cell0_rebuild'])
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {
            STOCK: folder / f'{version}.jsonl',
            ENABLED: folder / f'{version}-{stamp[:12]}.jsonl'}
        if again:
            for path in self.paths.values():
                path.unlink(missing_ok=True)

    def read(self, mode, alone=None):
        """Return {test: its last line in the log}."""
        return {line['test']: line for line in logs.lines(self.paths[mode])
                if alone in (None, line['alone'])}

    def ends(self, mode, alone=None):
        """Return {test: its last outcome}."""
        return {test: line['outcome']
                for test, line in self.read(mode, alone).items()}

    def failed(self, tests):
        """Return those that failed in either mode when run with others."""
        found = [self.ends(mode, False) for mode in MODES]
        return [test for test in tests
                if any(ends.get(test) == 'failed' for ends in found)]

    def only_without(self, tests):
        """Return those that pass without the package and not with it."""
        return [test for test, (without, with_us) in self._ends(tests)
                if without == 'passed' != with_us]

    def different(self, tests):
        """Return those that end with the package as they do not without."""
        return [test for test, (without, with_us) in self._ends(tests)
                if without != with_us]

    def _ends(self, tests):
        found = [self.ends(mode) for mode in MODES]
        return [(test, [ends.get(test) for ends in found]) for test in tests]


def compare(start, groups, results, judge, table_header, options, log=Log):
    """Run tests in both modes, print the table and return its rows.

    :param start: runs tests: it takes the mode, their names, what hears how
        they end, and options of "stestr run".
    :param groups: the tests, by the name of their row.
    :param judge: returns those of some tests that the last column counts.
    :param log: what hears how they end.
    """
    tests = [test for group in groups.values() for test in group]
    with progress.Progress(*run_tests.COLUMNS, console=OUT) as bar:
        def run(mode, tests, alone):
            """Run those of the tests that have no result yet."""
            known = results.read(mode, alone)
            wanted = [test for test in tests if test not in known]
            if not wanted:
                return
            with tempfile.NamedTemporaryFile('w') as names:
                print(*wanted, sep='\n', file=names, flush=True)
                start(mode, wanted, log(
                    f'{mode}{" again" if alone else ""}', wanted, bar,
                    results.paths[mode], alone), [
                        '--subunit', '--load-list', names.name,
                        '--concurrency', str(1 if alone else options.jobs)])
        run_all(run, tests, results, quick=options.quick)
    table_rows = rows(groups, results, judge)
    show(table_header, table_rows, tests, results, judge)
    return table_rows


def run_all(run, tests, results, *, quick=False):
    """Run the tests in both modes, and then alone what failed.

    :param run: runs tests: it takes the mode, their names, and whether alone.
    :param quick: run without the package only what does not pass with it.
    """
    run(ENABLED, tests, False)
    if quick:
        with_us = results.ends(ENABLED)
        tests = [test for test in tests if with_us.get(test) != 'passed']
    run(STOCK, tests, False)
    failed = results.failed(tests)
    for mode in MODES:
        run(mode, failed, True)


def header(group, judged):
    """Return the names of the columns of the table."""
    return (group, 'tests', *ENDS, *(f'with: {end}' for end in ENDS), judged)


def rows(groups, results, judge):
    """Return the rows of the table.

    :param judge: returns those of some tests that the last column counts.
    """
    found = [results.ends(mode) for mode in MODES]
    result = []
    for group, tests in groups.items():
        counts = [collections.Counter(map(ends.get, tests)) for ends in found]
        result.append((
            group, len(tests), *(count[end] for count in counts
                                 for end in ENDS), len(judge(tests))))
    return tables.summed(result, 'all')


def short(table_rows):
    """Return the rows that tell of all groups together, by outcome."""
    *_, (_, _, *counts, different) = table_rows
    return [*zip(ENDS, counts[:len(ENDS)], counts[len(ENDS):]),
            ('ended otherwise', '', different)]


def show(table_header, table_rows, tests, results, judge):
    """Print the table, and which tests failed, and when."""
    tables.show(table_header, table_rows)
    for test in results.failed(tests):
        ends = [results.ends(mode, alone).get(test, '-')
                for mode in MODES for alone in (False, True)]
        OUT.print('{}: {}, alone {}; with the package {}, alone {}'.format(
            test, *ends), markup=False)
    with_us = results.read(ENABLED)
    for test in judge(tests):
        OUT.print(f'FAILED  not as without the package: {test}', style='red',
                  markup=False)
        OUT.print(with_us.get(test, {}).get('why', ''), markup=False)
