# SPDX-License-Identifier: Apache-2.0

"""Let two operations on a buried server meet in every order; print the table.

Each pair of operations has a process of its own, as many at a time as there
are processors. The exit code is not 0 if a schedule ended like no order of
the two, or if one of a pair was not run though all were to be.
"""

import collections
import functools
import math
import os
import re
import sys
import time

import results
import tables

ROOT = results.ROOT
DOCS = ROOT / 'doc/source/contributor/races-table.rst'
SOURCES = ('cell0_rebuild', 'tests/faults', 'tests/races')
SUITE = 'tests.races.test_schedules'
APART = ('equal', 'refused', 'told late', 'different')
HEADER = ('capacity', 'pair', 'schedules', 'of them unlike', 'run',
          'like an order', 'refused', 'as Nova', 'told late',
          'waited for a lock', 'like no order')


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
    return tables.summed(result, '', 'all')


def short(table_rows):
    """Return the rows of the documentation: each column, of all pairs."""
    *of_pairs, total = table_rows
    return [(name, total[column], sum(row[column] > 0 for row in of_pairs))
            for column, name in enumerate(('all', *HEADER[3:]), 2)]


def main():
    """Run the pairs, print the table and return the exit code."""
    options = results.begin(
        results.parser(__doc__, 'pair', 'pairs'), 'races', SOURCES)
    folder = options.folder
    chosen = [(case, pair) for case, pair in pairs()
              if re.search(options.only, f'{case} {pair}')]
    crashes = results.run_all('pairs', [
        functools.partial(run, *pair, log_of(pair, folder), options)
        for pair in chosen], options.jobs)
    found = [line for log in sorted(folder.glob('*.log'))
             for line in results.lines(log)]
    table_rows = rows(found)
    wrong = [f'{line["pair"]} {line["schedule"]} {line["at"]}: '
             f'{line["ended"]}' for line in found
             if line.get('verdict') == 'different']
    tables.report(wrong, HEADER, table_rows, crashes)
    if options.write_docs:
        tables.keep('races', HEADER, table_rows)
        tables.write(DOCS, 'tools/run_races.py',
                     ('', 'schedules', 'in pairs'), short(table_rows))
    # A part of the schedules was asked for, or all of each pair.
    is_part = options.sample or options.minutes < math.inf
    missing = [] if is_part else [
        pair for pair in chosen if not was_run(pair, folder)]
    problem = None
    if crashes or wrong:
        problem = 'something ended like no order'
    elif missing:
        problem = (f'all that ran ended like one of the orders, but not all '
                   f'of these ran: {", ".join(map(" ".join, missing))}')
    print(problem or 'all ended like one of the orders', flush=True)
    return 1 if problem else 0


if __name__ == '__main__':
    sys.exit(main())
