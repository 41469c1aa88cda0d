# SPDX-License-Identifier: Apache-2.0

"""Let every fault happen at every boundary; print what became of servers.

Usage: run_faults.py [--resume] [--minutes N] [--write-docs] [--sample N]
                     [--seed N] [--only PATTERN] [--jobs N] [TEST ...]

Each series of tests/faults runs in a process of its own, as many at a time as
there are processors. The exit code is not 0 if a server was lost or something
else was wrong. --write-docs writes the sums of each story into the
documentation, and the table into .state/tables.

What ran is kept as long as the code stays the same: with --minutes the runs
stop, and --resume goes on with those that are left, of any series. The table
has all of them.
"""

import collections
import functools
import math
import os
import sys
import unittest

import results
import tables

ROOT = results.ROOT
DOCS = ROOT / 'doc/source/contributor/faults-table.rst'
KINDS = {'test_crashes': 'crash', 'test_deletes': 'deleted while down',
         'test_doubles': 'two errors', 'test_errors': 'error',
         'test_kill': 'SIGKILL', 'test_stalls': 'stall',
         'test_sweeps': 'sweep'}
HEADER = ('fault', 'story', 'in', 'boundaries', 'runs', 'survived',
          'of them cleared up by recover', 'otherwise wrong', 'lost',
          'not run yet')
SOURCES = ('cell0_rebuild', 'tests/faults', 'tests/integration')


def series(names):
    """Return the IDs of the tests."""
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
    sys.path.insert(0, str(ROOT))
    loader = unittest.TestLoader()
    found = (loader.loadTestsFromNames(names) if names else
             loader.discover(str(ROOT / 'tests/faults'), top_level_dir=ROOT))
    return sorted(_ids(found))


def _ids(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _ids(test)
        else:
            yield test.id()


def _planned(found):
    """Return the last plan of a series; None if there is none."""
    return next((line for line in reversed(found) if 'planned' in line), None)


def rows(logs):
    """Return the rows of the table.

    :param logs: the lines of each series.
    """
    groups = collections.defaultdict(list)
    planned = collections.Counter()
    for found in logs:
        plan = _planned(found)
        if plan is None:
            continue
        kind = KINDS[plan['test'].split('.')[2]]
        for process, count in plan['planned'].items():
            planned[kind, plan['story'], process] += count
        for line in found:
            if 'boundary' in line:
                groups[kind, line['story'], line['process']].append(line)
    result = [_row(key, groups[key], planned[key]) for key in sorted(planned)]
    total = [sum(column) for column in list(zip(*result))[3:]]
    return [*result, ('all', '', '', *total)]


def _row(key, group, planned):
    return (
        *key, len({line['boundary'] for line in group}), len(group),
        sum(line['problem'] is None for line in group),
        sum(line['cleared'] for line in group),
        sum(bool(line['problem']) and not line['lost'] for line in group),
        sum(line['lost'] for line in group), max(0, planned - len(group)))


def _by_story(found):
    """Return the rows, whichever process it was in."""
    sums = collections.defaultdict(list)
    for fault, story, _, *counts in found:
        sums[fault, story].append(counts)
    return [(*key, *map(sum, zip(*counts))) for key, counts in sums.items()]


def main():
    """Run the series, print the table and return the exit code."""
    parser = results.parser(__doc__, 'series', 'faults')
    parser.add_argument('tests', nargs='*')
    options = results.begin(parser, 'faults', SOURCES)
    crashes = results.run_all('series', [functools.partial(
        results.run, test, 'FAULTS', options.folder / f'{test}.log', options,
        options.only, lambda line: line.get('problem'))
        for test in series(options.tests)], options.jobs)
    logs = [results.lines(log)
            for log in sorted(options.folder.glob('*.log'))]
    found = [line for log in logs for line in log]
    table_rows = rows(logs)
    wrong = [f'{"LOST" if line["lost"] else "WRONG"}  {line["fault"]}: '
             f'{line["problem"]}' for line in found if line.get('problem')]
    tables.report(results.OUT, wrong, HEADER, table_rows, crashes)
    if options.write_docs:
        tables.keep(results.OUT, 'faults', HEADER, table_rows)
        tables.write(results.OUT, DOCS, 'tools/run_faults.py',
                     (*HEADER[:2], *HEADER[3:]), _by_story(table_rows))
    return _verdict(crashes, found, table_rows[-1][-1], options)


def _verdict(crashes, found, left, options):
    """Tell how all ended, and return the exit code.

    :param left: how many faults were planned and did not happen.
    """
    if crashes or any(line.get('problem') for line in found):
        print('a server was lost or something was wrong', flush=True)
        return 1
    run = {line['test'] for line in found if 'planned' in line}
    missing = set(series(options.tests)) - run
    if missing and not options.only:
        print(f'no server was lost, but not run: {", ".join(sorted(missing))}'
              f'; those that kill processes need MariaDB and RabbitMQ',
              flush=True)
        return 1
    if left and options.minutes == math.inf:
        print(f'no server was lost, but {left} faults did not happen',
              flush=True)
        return 1
    if not any('boundary' in line for line in found):
        print('no fault has happened', flush=True)
        return 1
    print('no server was lost', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
