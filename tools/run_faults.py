# SPDX-License-Identifier: Apache-2.0

"""Let every fault happen at every boundary; print what became of servers.

Each series of tests/faults runs in a process of its own, as many at a time as
there are processors. The exit code is not 0 if a server was lost or something
else was wrong.
"""

import collections
import functools
import math
import os
import sys
import unittest

import testtools

import results
import tables

ROOT = results.ROOT
DOCS = ROOT / 'doc/source/contributor/faults-table.rst'
KINDS = {'test_crashes': 'crash', 'test_deletes': 'deleted while down',
         'test_doubles': 'two errors',
         'test_elsewhere': 'crash, then another cell', 'test_errors': 'error',
         'test_kill': 'SIGKILL', 'test_stalls': 'stall',
         'test_sweeps': 'sweep', 'test_writes': 'two writes'}
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
    return sorted(test.id() for test in testtools.iterate_tests(found))


def rows(logs):
    """Return the rows of the table.

    :param logs: the lines of each series.
    """
    groups = collections.defaultdict(list)
    planned = collections.Counter()
    for found in logs:
        plans = [line for line in found if 'planned' in line]
        if not plans:
            continue
        # The last one is of this run.
        plan = plans[-1]
        kind = KINDS[plan['test'].split('.')[2]]
        for process, count in plan['planned'].items():
            planned[kind, plan['story'], process] += count
        for line in found:
            if 'boundary' in line:
                groups[kind, line['story'], line['process']].append(line)
    return tables.summed([_row(key, groups[key], planned[key])
                          for key in sorted(planned)], 'all', '', '')


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
    parser.add_argument('tests', nargs='*', metavar='TEST')
    options = results.begin(parser, 'faults', SOURCES)
    tests = series(options.tests)
    crashes = results.run_all('series', [functools.partial(
        results.run, test, 'FAULTS', options.folder / f'{test}.log', options,
        options.only, lambda line: line.get('problem'))
        for test in tests], options.jobs)
    logs = [results.lines(log) for log in sorted(options.folder.glob('*.log'))]
    found = [line for log in logs for line in log]
    table_rows = rows(logs)
    wrong = [f'{"LOST" if line["lost"] else "WRONG"}  {line["fault"]}: '
             f'{line["problem"]}' for line in found if line.get('problem')]
    tables.report(wrong, HEADER, table_rows, crashes)
    if options.write_docs:
        tables.keep('faults', HEADER, table_rows)
        tables.write(DOCS, 'tools/run_faults.py',
                     (*HEADER[:2], *HEADER[3:]), _by_story(table_rows))
    problem = ('a server was lost or something was wrong'
               if crashes or wrong else
               _lacking(tests, found, table_rows[-1][-1], options))
    print(problem or 'no server was lost', flush=True)
    return 1 if problem else 0


def _lacking(tests, found, left, options):
    """Return what did not happen though it was to; None if all did.

    :param left: how many faults were planned and did not happen.
    """
    missing = set(tests) - {
        line['test'] for line in found if 'planned' in line}
    if missing and not options.only:
        return (f'no server was lost, but not run: '
                f'{", ".join(sorted(missing))}; those that kill processes '
                f'need MariaDB and RabbitMQ')
    if left and options.minutes == math.inf:
        return f'no server was lost, but {left} faults did not happen'
    if not any('boundary' in line for line in found):
        return 'no fault has happened'
    return None


if __name__ == '__main__':
    sys.exit(main())
