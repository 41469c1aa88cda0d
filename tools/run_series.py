# SPDX-License-Identifier: Apache-2.0

"""Run all faults, or all orders in which two requests meet; print the table.

Each series has a process of its own, as many at a time as there are
processors: a test of tests/faults, or a pair of operations of tests/races. The
exit code is not 0 if a server was lost, something ended as it may not, or
something was not run though all was to be.

What ran is kept in .state/results as long as the code stays the same:
--resume goes on with what is left. The table has all of it.
"""

import argparse
import collections
from concurrent import futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from rich import progress
import testtools

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import result_log  # noqa: E402
from tools import tables  # noqa: E402

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

    name = 'faults'
    sources = ('cell0_rebuild', 'tests/faults', 'tests/integration')
    good = 'no server was lost'
    bad = 'a server was lost or something was wrong'
    header = ('fault', 'story', 'boundaries', 'runs', 'survived',
              'of them cleared up by recover', 'otherwise wrong', 'lost',
              'not run yet')

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
        """Return the rows of the table, and one with their sums."""
        groups = collections.defaultdict(list)
        planned = collections.Counter()
        for log in logs:
            # The last plan is of this run.
            for plan in [line for line in log if 'planned' in line][-1:]:
                key = KINDS[plan['test'].split('.')[2]], plan['story']
                planned[key] += sum(plan['planned'].values())
                groups[key] += [line for line in log if 'boundary' in line]
        rows = [(
            *key, len({(line['process'], line['boundary']) for line in group}),
            len(group), sum(line['problem'] is None for line in group),
            sum(line['cleared'] for line in group),
            sum(bool(line['problem']) and not line['lost'] for line in group),
            sum(line['lost'] for line in group),
            max(0, planned[key] - len(group)))
            for key, group in sorted(groups.items())]
        return [*rows, ('all', '', *map(sum, list(zip(*rows))[2:]))]

    def lacking(self, series, logs, options):
        """Return what did not happen though it was to, or None."""
        missing = [name for name in series if not any(
            'planned' in line for line in logs[name])]
        if missing and not options.only:
            return (f'not run: {", ".join(missing)}; those that kill '
                    f'processes need MariaDB and RabbitMQ')
        _, _, *counts = self.rows(logs.values())[-1]
        if not any(counts):
            return 'no fault has happened'
        return f'{counts[-1]} faults did not happen' if counts[-1] else None


# What the table of races calls what is counted. Verdicts that are not in it
# are exceptions that are "as Nova".
COUNTED = {'total': 'all', 'unlike': 'of them unlike', 'run': 'run',
           'equal': 'like an order', 'refused': 'refused',
           'as Nova': 'as Nova', 'told late': 'told late',
           'a cell is named': 'a cell is named',
           'blocked': 'waited for a lock', 'different': 'like no order'}


class Races:
    """Two operations on a buried server in every order."""

    name = 'races'
    sources = ('cell0_rebuild', 'tests/faults', 'tests/races')
    good = 'all ended like one of the orders'
    bad = 'something ended like no order'
    header = ('', 'schedules', 'in pairs')

    def series(self, options):
        """Return {name: (test, pattern of what it runs)}."""
        from tests.races import test_schedules
        return {f'{case.__name__} {pair}': (
            f'{case.__module__}.{case.__name__}', f'^{re.escape(pair)}$')
            for case in vars(test_schedules).values()
            if isinstance(case, type)
            for pair in case.pairs()
            if re.search(options.only, f'{case.__name__} {pair}')}

    def problem(self, line):
        """Return what is wrong with a line of a log, or None."""
        if line.get('verdict') != 'different':
            return None
        return (f'{line["pair"]} {line["schedule"]} {line["at"]}: '
                f'{line["ended"]}')

    def rows(self, logs):
        """Return the rows of the table: sums, and of how many pairs."""
        pairs = [self._counts(log) for log in logs]
        return [(name, sum(pair[key] for pair in pairs),
                 sum(pair[key] > 0 for pair in pairs))
                for key, name in COUNTED.items()]

    def _counts(self, log):
        count = collections.Counter()
        for line in log:
            if 'total' in line:
                # The last one is of this run.
                count['total'] = line['total']
                count['unlike'] = line['different']
            elif 'verdict' in line:
                verdict = line['verdict']
                count['run'] += 1
                count['blocked'] += line['blocked']
                count[verdict if verdict in COUNTED else 'as Nova'] += 1
        return count

    def lacking(self, series, logs, options):
        """Return what did not happen though it was to, or None."""
        if not series:
            return 'no such pair'
        counts = {name: self._counts(logs[name]) for name in series}
        # All of each pair, or a part of its schedules was asked for.
        missing = [name for name, count in counts.items()
                   if not count['total'] or (
                       not options.sample and count['run'] < count['unlike'])]
        return missing and f'not all of these ran: {", ".join(missing)}'


def parsed(kinds):
    """Return the options of a run."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--write-docs', action='store_true',
                        help='write the table into the documentation')
    parser.add_argument('--resume', action='store_true',
                        help='keep what an earlier run has done')
    parser.add_argument('--sample', type=int, default=0,
                        help='runs of each series; 0 means all')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='', metavar='PATTERN',
                        help='faults or pairs whose names match')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('kind', choices=kinds)
    parser.add_argument('tests', nargs='*', metavar='TEST', help='of faults')
    return parser.parse_intermixed_args()


def kept(kind, resume):
    """Return a folder for what is written; results of other code are dropped.

    :param resume: keep what an earlier run of the same code has written.
    """
    found = hashlib.sha256()
    for source in kind.sources:
        for path in sorted((ROOT / source).rglob('*.py')):
            found.update(path.read_bytes())
    folder = STATE / kind.name / found.hexdigest()[:16]
    if not (resume and folder.exists()):
        shutil.rmtree(STATE / kind.name, ignore_errors=True)
        folder.mkdir(parents=True)
    return folder


def run(kind, test, only, log, options):
    """Run a series; return what it says if it failed without a result."""
    prefix = f'CELL0_REBUILD_{kind.name.upper()}_'
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'unittest', test], cwd=ROOT,
        env={**os.environ, 'OS_TEST_TIMEOUT': '0', f'{prefix}LOG': str(log),
             f'{prefix}SAMPLE': str(options.sample),
             f'{prefix}SEED': str(options.seed), f'{prefix}ONLY': only},
        capture_output=True, text=True, check=False)
    if not done.returncode or any(map(kind.problem, result_log.lines(log))):
        return ''
    # One that is killed says nothing.
    return done.stderr[-3000:] or (
        f'{test} {only} ended with {done.returncode}')


def run_all(kind, series, paths, options):
    """Run series side by side; return what those say that crashed."""
    with progress.Progress(console=tables.OUT) as bar, \
            futures.ThreadPoolExecutor(options.jobs) as executor:
        running = [executor.submit(run, kind, *series[name], paths[name],
                                   options) for name in series]
        return [future.result() for future in bar.track(
            futures.as_completed(running), total=len(running),
            description=kind.name) if future.result()]


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
    crashes = run_all(kind, series, paths, options)
    # Those of an earlier run, too.
    names = {path: name for name, path in paths.items()}
    logs = {names.get(path, path.stem): result_log.lines(path)
            for path in sorted({*folder.glob('*.log'), *names})}
    wrong = [problem for log in logs.values() for line in log
             if (problem := kind.problem(line))]
    rows = kind.rows(logs.values())
    for line in wrong:
        tables.OUT.print(line, markup=False)
    tables.show(kind.header, rows)
    for output in crashes:
        tables.OUT.print(output, markup=False)
    if options.write_docs:
        tables.write(DOCS / f'{kind.name}-table.rst',
                     f'tools/run_series.py {kind.name}', kind.header, rows)
    problem = kind.bad if crashes or wrong else kind.lacking(
        series, logs, options)
    print(problem or kind.good, flush=True)
    return 1 if problem else 0


if __name__ == '__main__':
    sys.exit(main())
