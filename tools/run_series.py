# SPDX-License-Identifier: Apache-2.0

"""Run all faults, or all orders in which two requests meet; print the table.

Each series has a process of its own, as many at a time as there are
processors: a test of tests/faults, or a pair of operations of tests/races. The
exit code is not 0 if a server was lost, something ended as it may not, or
something was not run though all was to be.

What ran is kept as long as the code stays the same: with --minutes the runs
stop, and --resume goes on with those that are left. The table has all of them.
"""

import argparse
import collections
import functools
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

import testtools

import results
import tables

ROOT = results.ROOT
STATE = ROOT / '.state' / 'results'
DOCS = ROOT / 'doc/source/contributor'
# How the tests of faults are called in the table.
KINDS = {'test_burying': 'bury command dies', 'test_crashes': 'crash',
         'test_deletes': 'deleted while down',
         'test_doubles': 'two errors',
         'test_elsewhere': 'crash, then another cell',
         'test_errors': 'error', 'test_kill': 'SIGKILL',
         'test_stalls': 'stall', 'test_sweeps': 'sweep',
         'test_unsent': 'create fails, conductor dies or errs',
         'test_writes': 'two writes'}


class Faults:
    """Every fault at every boundary, and what became of servers."""

    name, what = 'faults', 'FAULTS'
    sources = ('cell0_rebuild', 'tests/faults', 'tests/integration')
    good = 'no server was lost'
    bad = 'a server was lost or something was wrong'
    header = ('fault', 'story', 'in', 'boundaries', 'runs', 'survived',
              'of them cleared up by recover', 'otherwise wrong', 'lost',
              'not run yet')
    short_header = (*header[:2], *header[3:])

    def series(self, options):
        """Return {name: (test, pattern of what it runs)}."""
        loader = unittest.TestLoader()
        found = (loader.loadTestsFromNames(options.tests) if options.tests
                 else loader.discover(str(ROOT / 'tests/faults'),
                                      top_level_dir=str(ROOT)))
        return {test: (test, options.only) for test in sorted(
            test.id() for test in testtools.iterate_tests(found))}

    def problem(self, line):
        """Return what is wrong with a line of a log, or None."""
        if not line.get('problem'):
            return None
        return (f'{"LOST" if line["lost"] else "WRONG"}  {line["fault"]}: '
                f'{line["problem"]}')

    def rows(self, logs):
        """Return the rows of the table."""
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
        return tables.summed([
            _fault_row(key, groups[key], planned[key])
            for key in sorted(planned)], 'all', '', '')

    def short(self, rows):
        """Return the rows of the documentation: whichever process it was."""
        sums = collections.defaultdict(list)
        for fault, story, _, *counts in rows:
            sums[fault, story].append(counts)
        return [(*key, *map(sum, zip(*counts)))
                for key, counts in sums.items()]

    def lacking(self, series, logs, options):
        """Return what did not happen though it was to, or None."""
        found = [line for log in logs.values() for line in log]
        missing = set(series) - {
            line['test'] for line in found if 'planned' in line}
        if missing and not options.only:
            return (f'not run: {", ".join(sorted(missing))}; those that kill '
                    f'processes need MariaDB and RabbitMQ')
        left = self.rows(logs.values())[-1][-1]
        if left and options.minutes == math.inf:
            return f'{left} faults did not happen'
        if not any('boundary' in line for line in found):
            return 'no fault has happened'
        return None


def _fault_row(key, group, planned):
    return (
        *key, len({line['boundary'] for line in group}), len(group),
        sum(line['problem'] is None for line in group),
        sum(line['cleared'] for line in group),
        sum(bool(line['problem']) and not line['lost'] for line in group),
        sum(line['lost'] for line in group), max(0, planned - len(group)))


class Races:
    """Two operations on a buried server in every order."""

    name, what = 'races', 'RACES'
    sources = ('cell0_rebuild', 'tests/faults', 'tests/races')
    good = 'all ended like one of the orders'
    bad = 'something ended like no order'
    apart = ('equal', 'refused', 'told late', 'a cell is named', 'different')
    header = ('capacity', 'pair', 'schedules', 'of them unlike', 'run',
              'like an order', 'refused', 'as Nova', 'told late',
              'a cell is named', 'waited for a lock', 'like no order')
    short_header = ('', 'schedules', 'in pairs')

    def series(self, options):
        """Return {name: (test, pattern of what it runs)}."""
        from tests.races import test_schedules
        return {f'{case.__name__} {pair}': (
            f'{case.__module__}.{case.__name__}', f'^{re.escape(pair)}$')
            for case in (test_schedules.CapacityTest,
                         test_schedules.NoCapacityTest,
                         test_schedules.WithoutRebuildTest)
            for pair in case.pairs()
            if re.search(options.only, f'{case.__name__} {pair}')}

    def problem(self, line):
        """Return what is wrong with a line of a log, or None."""
        if line.get('verdict') != 'different':
            return None
        return (f'{line["pair"]} {line["schedule"]} {line["at"]}: '
                f'{line["ended"]}')

    def rows(self, logs):
        """Return the rows of the table."""
        groups = collections.defaultdict(list)
        for line in (line for log in logs for line in log):
            groups['yes' if line['capacity'] else 'no',
                   line['pair']].append(line)
        rows = []
        for (capacity, pair), group in groups.items():
            totals = [line for line in group if 'total' in line]
            played = [line for line in group if 'verdict' in line]
            count = collections.Counter(line['verdict'] for line in played)
            rows.append((
                capacity, pair.replace('|', '/'),
                *((totals[-1]['total'], totals[-1]['different']) if totals
                  else (0, 0)), len(played),
                count['equal'], count['refused'],
                # All others are exceptions that are "as Nova".
                len(played) - sum(count[verdict] for verdict in self.apart),
                count['told late'], count['a cell is named'],
                sum(line['blocked'] for line in played), count['different']))
        return tables.summed(rows, '', 'all')

    def short(self, rows):
        """Return the rows of the documentation: each column, of all pairs."""
        *of_pairs, total = rows
        return [
            (name, total[column], sum(row[column] > 0 for row in of_pairs))
            for column, name in enumerate(('all', *self.header[3:]), 2)]

    def lacking(self, series, logs, options):
        """Return what did not happen though it was to, or None."""
        # A part of the schedules was asked for, or all of each pair.
        if options.sample or options.minutes < math.inf:
            return None
        missing = [name for name in series if not _was_run(logs.get(name, ()))]
        return f'not all of these ran: {", ".join(missing)}' if missing else (
            None if series else 'no such pair')


def _was_run(log):
    """Tell whether all unlike schedules of a pair were run."""
    totals = [line['different'] for line in log if 'total' in line]
    return bool(totals) and totals[-1] <= sum(
        'verdict' in line for line in log)


def parsed(kinds):
    """Return the options of a run."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--write-docs', action='store_true',
                        help='write sums into the documentation, and the '
                             'table into .state/tables')
    parser.add_argument('--resume', action='store_true',
                        help='keep what an earlier run has done')
    parser.add_argument('--minutes', type=float, default=math.inf,
                        help='begin no run after that')
    parser.add_argument('--sample', type=int, default=0,
                        help='runs of each series; 0 means all')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='', metavar='PATTERN',
                        help='faults or pairs whose names match')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('kind', choices=kinds)
    parser.add_argument('tests', nargs='*', metavar='TEST', help='of faults')
    options = parser.parse_intermixed_args()
    options.until = time.time() + 60 * options.minutes
    return options


def kept(kind, resume):
    """Return a folder for what is written; results of other code are dropped.

    :param resume: keep what an earlier run of the same code has written.
    """
    folder = STATE / kind.name / results.stamp(kind.sources)[:16]
    if not (resume and folder.exists()):
        shutil.rmtree(STATE / kind.name, ignore_errors=True)
        folder.mkdir(parents=True)
    return folder


def run(kind, test, only, log, options):
    """Run a series; return what it says if it failed without a result."""
    if time.time() >= options.until:
        # A Nova would be started for nothing.
        return ''
    prefix = f'CELL0_REBUILD_{kind.what}_'
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'unittest', test], cwd=ROOT,
        env={**os.environ, 'OS_TEST_TIMEOUT': '0', f'{prefix}LOG': str(log),
             f'{prefix}SAMPLE': str(options.sample),
             f'{prefix}SEED': str(options.seed),
             f'{prefix}UNTIL': str(options.until), f'{prefix}ONLY': only},
        capture_output=True, text=True, check=False)
    if not done.returncode or any(map(kind.problem, results.lines(log))):
        return ''
    # One that is killed says nothing.
    return done.stderr[-3000:] or (
        f'{test} {only} ended with {done.returncode}')


def main():
    """Run the series, print the table and return the exit code."""
    os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
    kinds = {kind.name: kind for kind in (Faults(), Races())}
    options = parsed(kinds)
    kind = kinds[options.kind]
    folder = kept(kind, options.resume)
    series = kind.series(options)
    paths = {name: folder / f'{re.sub(r"[^.A-Za-z0-9_]+", "-", name)}.log'
             for name in series}
    crashes = results.run_all('series', [
        functools.partial(run, kind, *series[name], paths[name], options)
        for name in series], options.jobs)
    # Those of an earlier run, too.
    names = {path: name for name, path in paths.items()}
    logs = {names.get(path, path.stem): results.lines(path)
            for path in sorted(folder.glob('*.log'))}
    wrong = [problem for log in logs.values() for line in log
             if (problem := kind.problem(line))]
    rows = kind.rows(logs.values())
    for line in wrong:
        tables.OUT.print(line, markup=False)
    tables.show(kind.header, rows)
    for output in crashes:
        tables.OUT.print(output, markup=False)
    if options.write_docs:
        tables.keep(kind.name, kind.header, rows)
        tables.write(DOCS / f'{kind.name}-table.rst',
                     f'tools/{pathlib.Path(__file__).name} {kind.name}',
                     kind.short_header, kind.short(rows))
    if crashes or wrong:
        problem = kind.bad
    else:
        problem = kind.lacking(series, logs, options)
        problem = problem and f'{kind.good}, but {problem}'
    print(problem or kind.good, flush=True)
    return 1 if problem else 0


if __name__ == '__main__':
    sys.exit(main())
