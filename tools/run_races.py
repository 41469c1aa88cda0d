# SPDX-License-Identifier: Apache-2.0

"""Let two operations on a buried server meet in every order; print the table.

Usage: run_races.py [--resume] [--minutes N] [--write-docs] [--sample N]
                    [--seed N] [--only PATTERN] [--jobs N]

Each pair of operations has a process of its own, as many at a time as there
are processors. The exit code is not 0 if a schedule ended like no order of
the two, or if one of a pair was not run though all were to be. --write-docs
writes the sums into the documentation, and the table into .state/tables.

What ran is kept as long as the code stays the same: with --minutes the runs
stop, and --resume goes on with those that are left, of any pair. The table
has all of them.
"""

import collections
import concurrent.futures
import math
import os
import pathlib
import re
import sys
import time

from rich import console
from rich import progress

import results
import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / 'doc/source/contributor/races-table.rst'
OUT = console.Console(soft_wrap=True)
SOURCES = ('cell0_rebuild', 'tests/faults', 'tests/races')
SUITE = 'tests.races.test_schedules'
APART = ('equal', 'refused', 'told late', 'different')
HEADER = ('capacity', 'pair', 'schedules', 'of them unlike', 'run',
          'like an order', 'refused', 'as Nova', 'told late',
          'waited for a lock', 'like no order')
SHORT_HEADER = ('', 'schedules', 'in pairs')


def pairs():
    """Return [(test case, pair)]."""
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
    sys.path.insert(0, str(ROOT))
    from tests.races import test_schedules
    return [(case.__name__, pair)
            for case in (test_schedules.CapacityTest,
                         test_schedules.NoCapacityTest,
                         test_schedules.WithoutRebuildTest)
            for pair in case.pairs()]


def run(case, pair, log, options):
    """Run a pair; return its output if it failed without a result."""
    if time.time() >= options.until:
        # A Nova would be started for nothing.
        return ''
    return results.run(
        f'{SUITE}.{case}', 'RACES', log, options, f'^{re.escape(pair)}$',
        lambda line: line.get('verdict') == 'different')


def log_of(pair, folder):
    """Return the log of a pair."""
    return folder / (re.sub(r'\W+', '-', ' '.join(pair)) + '.log')


def was_run(pair, folder):
    """Tell whether all unlike schedules of a pair were run."""
    found = results.lines(log_of(pair, folder))
    totals = [line['different'] for line in found if 'total' in line]
    return bool(totals) and totals[-1] <= sum(
        'verdict' in line for line in found)


def run_all(chosen, folder, options):
    """Run the pairs side by side and return the outputs of crashes."""
    crashes = []
    with progress.Progress(console=OUT) as bar, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as executor:
        task = bar.add_task('pairs', total=len(chosen))
        for future in concurrent.futures.as_completed([
                executor.submit(run, *pair, log_of(pair, folder), options)
                for pair in chosen]):
            bar.advance(task)
            crashes += filter(None, [future.result()])
    return crashes


def rows(found):
    """Return the rows of the table."""
    groups = collections.defaultdict(list)
    for line in found:
        groups['yes' if line['capacity'] else 'no', line['pair']].append(line)
    result = []
    for (capacity, pair), group in groups.items():
        totals = [line for line in group if 'total' in line]
        played = [line for line in group if 'verdict' in line]
        count = collections.Counter(line['verdict'] for line in played)
        result.append((
            capacity, pair.replace('|', '/'),
            *((totals[-1]['total'], totals[-1]['different']) if totals
              else (0, 0)), len(played),
            count['equal'], count['refused'],
            # All others are exceptions that are "as Nova".
            len(played) - sum(count[verdict] for verdict in APART),
            count['told late'],
            sum(line['blocked'] for line in played), count['different']))
    sums = [sum(column) for column in list(zip(*result))[2:]]
    return [*result, ('', 'all', *sums)]


def short(table_rows):
    """Return the rows of the documentation: each column, of all pairs."""
    *of_pairs, total = table_rows
    return [(name, total[column], sum(row[column] > 0 for row in of_pairs))
            for column, name in enumerate(('all', *HEADER[3:]), 2)]


def show(found, table_rows):
    """Print what ended like no order, and the table."""
    for line in found:
        if line.get('verdict') == 'different':
            OUT.print(f'{line["pair"]} {line["schedule"]} {line["at"]}: '
                      f'{line["ended"]}', markup=False)
    tables.show(OUT, HEADER, table_rows)


def main():
    """Run the pairs, print the table and return the exit code."""
    parser = results.parser(__doc__, 'pair', 'pairs')
    options = parser.parse_args()
    chosen = [(case, pair) for case, pair in pairs()
              if re.search(options.only, f'{case} {pair}')]
    options.until = time.time() + 60 * options.minutes
    folder = results.folder('races', SOURCES, options.resume)
    crashes = run_all(chosen, folder, options)
    found = [line for log in sorted(folder.glob('*.log'))
             for line in results.lines(log)]
    table_rows = rows(found)
    show(found, table_rows)
    for output in crashes:
        OUT.print(output, markup=False)
    if options.write_docs:
        tables.keep(OUT, 'races', HEADER, table_rows)
        tables.write(OUT, DOCS, 'tools/run_races.py', SHORT_HEADER,
                     short(table_rows))
    return verdict(crashes, table_rows[-1][-1], [] if is_part(options) else [
        pair for pair in chosen if not was_run(pair, folder)])


def is_part(options):
    """Tell whether a part of the schedules was asked for."""
    return options.sample or options.minutes < math.inf


def verdict(crashes, different, missing):
    """Tell how all ended, and return the exit code."""
    if crashes or different:
        print('something ended like no order', flush=True)
        return 1
    if missing:
        print(f'all that ran ended like one of the orders, but not all of '
              f'these ran: {", ".join(map(" ".join, missing))}', flush=True)
        return 1
    print('all ended like one of the orders', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
