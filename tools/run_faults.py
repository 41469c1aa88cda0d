# SPDX-License-Identifier: Apache-2.0

"""Let every fault happen at every boundary; print what became of servers.

Usage: run_faults.py [--resume] [--minutes N] [--write-docs] [--sample N]
                     [--seed N] [--only PATTERN] [--jobs N] [TEST ...]

Each series of tests/faults runs in a process of its own, as many at a time as
there are processors. The exit code is not 0 if a server was lost or something
else was wrong. --write-docs writes the table into the documentation.

What ran is kept as long as the code stays the same: with --minutes the runs
stop, and --resume goes on with those that are left, of any series. The table
has all of them.
"""

import collections
import concurrent.futures
import math
import os
import pathlib
import sys
import time
import unittest

from rich import console
from rich import progress

import results
import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / 'doc/source/contributor/faults-table.rst'
OUT = console.Console(soft_wrap=True)
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


def run_all(tests, folder, options):
    """Run the series side by side and return the outputs of crashes."""
    logs = {test: folder / f'{test}.log' for test in tests}
    columns = ('{task.description}', progress.BarColumn(),
               progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=OUT) as bar, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as executor:
        tasks = {test: bar.add_task(test.removeprefix('tests.faults.'),
                                    total=None) for test in tests}
        futures = [executor.submit(
            results.run, test, 'FAULTS', log, options, options.only,
            lambda line: line.get('problem')) for test, log in logs.items()]
        running = True
        while running:
            running = not all(future.done() for future in futures)
            for test, log in logs.items():
                _show(bar, tasks[test], results.lines(log))
            time.sleep(0.5)
    return [future.result() for future in futures if future.result()]


def _show(bar, task, found):
    planned = _planned(found)
    if planned:
        bar.update(task, total=planned['total'],
                   completed=sum('boundary' in line for line in found))


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


def show(found, table_rows):
    """Print what went wrong and the table."""
    for line in found:
        if line.get('problem'):
            OUT.print(f'{"LOST" if line["lost"] else "WRONG"}  '
                      f'{line["fault"]}: {line["problem"]}', markup=False)
    tables.show(OUT, HEADER, table_rows)


def main():
    """Run the series, print the table and return the exit code."""
    parser = results.parser(__doc__, 'series', 'faults')
    parser.add_argument('tests', nargs='*')
    options = parser.parse_args()
    options.until = time.time() + 60 * options.minutes
    folder = results.folder('faults', SOURCES, options.resume)
    crashes = run_all(series(options.tests), folder, options)
    logs = [results.lines(log) for log in sorted(folder.glob('*.log'))]
    found = [line for log in logs for line in log]
    table_rows = rows(logs)
    show(found, table_rows)
    for output in crashes:
        OUT.print(output, markup=False)
    if options.write_docs:
        tables.write(OUT, DOCS, 'tools/run_faults.py', HEADER, table_rows)
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
