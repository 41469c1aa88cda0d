# SPDX-License-Identifier: Apache-2.0

"""Run the tests on every release of Nova that is supported, and on Debian's.

A row is a release, in an environment of its own in .state/matrix; 26-debian
is the one that Debian 12 ships, with all its own packages. What a row has run
is kept with a stamp of what it was run on, and not run again until that
changes or if a test failed: a matrix that was interrupted goes on where it
was.

--write-docs writes the rows that have run whole on the present code into the
table of the documentation. Its other rows stay, so that several machines, or
days, can share them.
"""

import argparse
import csv
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]

import results  # noqa: E402
import tables  # noqa: E402

from tests import releases  # noqa: E402

STATE = ROOT / '.state/matrix'
DOCS = ROOT / 'doc/source/admin/compatibility.csv'
OUT = results.OUT

DEBIAN = '26-debian'
# It has all that any test needs: one that is skipped has lost its reason.
NEWEST = str(max(releases.PYTHONS))


def _rows():
    yield DEBIAN, '3.11'
    for number, pythons in releases.PYTHONS.items():
        # "make test" is for the first Python of the newest release.
        first, *others = pythons[str(number) == NEWEST:]
        yield str(number), first
        for python in others:
            yield f'{number}-py{python.replace(".", "")}', python


# The Python that a row runs on, by its name: the release of Nova and, where
# there is more than one, what else tells it.
ROWS = dict(sorted(_rows()))

# What each row runs, and what it was run on: beside what all suites rest on,
# the files in these folders.
SUITES = ('unit', 'functional')
FOLDERS = {'unit': ('tests/unit', 'tests/integration'),
           'commands': ('tests/unit',),
           'processes': ('tests/integration',)}
SHARED = ('requirements.txt', 'test-requirements.txt', 'setup.cfg',
          'tools/environment.sh', 'tools/run_tests.py', 'tests/__init__.py',
          'tests/releases.py', 'tests/signatures.py', 'tests/suites.yaml')
HEADER = ('Nova', 'Python', 'suite', 'passed', 'skipped', 'failed', 'seconds',
          'on the present state')
WRITTEN = ('Nova', 'Python', 'Its highest microversion',
           'The added microversion', 'Passed', 'Skipped', 'Failed', 'Day')

# stestr runs as many tests at a time as there are processors.
MEMORY_OF_A_ROW = 6 * 2**30

COUNTS = re.compile(
    r'^(\d+) passed, (\d+) failed, (\d+) skipped$', re.MULTILINE)


def suites_of(row):
    """Return what a row runs if nothing else is asked for.

    What a distribution ships is started as it starts it.
    """
    return (*SUITES, 'processes') if row == DEBIAN else SUITES


def stamp(row, suite):
    """Return what the results of a suite on a row depend on, in short.

    Tools and documentation are the same for all rows, and not in it.
    """
    found = hashlib.sha256(f'{row} {ROWS[row]} {_highest(row)}'.encode())
    files = [ROOT / name for name in (
        f'constraints/nova{row.partition("-")[0]}.txt', *SHARED)]
    if row == DEBIAN:
        files += sorted((ROOT / 'tools/debian').iterdir())
    for folder in ('cell0_rebuild', *FOLDERS.get(suite, ['tests/functional'])):
        files += sorted((ROOT / folder).rglob('*.py'))
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def kept():
    """Return all results that there are, by their row and suite."""
    return {path.stem.rpartition('-')[::2]: json.loads(path.read_text())
            for path in STATE.glob('*.json')}


def present(row, suite):
    """Return the result of a suite on a row as both are now, or None."""
    found = kept().get((row, suite))
    return found if found and found['stamp'] == stamp(row, suite) else None


def is_green(row, suite):
    """Tell whether a suite passed on a row as both are now."""
    found = present(row, suite)
    may_skip = row.partition('-')[0] != NEWEST
    return bool(found and found['passed'] and not found['failed']
                and (may_skip or not found['skipped']))


def run(row, suites):
    """Build the environment of a row and run suites in it."""
    folder = STATE / row
    release = row.partition('-')[0]
    environment = {
        **os.environ,
        'CELL0_REBUILD_STATE': str(folder.relative_to(ROOT) / 'stestr'),
        # For the tests that are not in it, but start its programs.
        'CELL0_REBUILD_NOVA': str(folder),
        'CELL0_REBUILD_NOVA_RELEASE': release}
    STATE.mkdir(parents=True, exist_ok=True)
    build, python = (
        (['tools/debian/environment.sh', folder],
         [folder / 'enter', 'python3']) if row == DEBIAN else
        (['tools/environment.sh', folder / 'venv', release],
         [folder / 'venv/bin/python']))
    with open(STATE / f'{row}.log', 'w') as log:
        built = subprocess.run(
            build, cwd=ROOT, env={
                **environment, 'PYTHON': f'python{ROWS[row]}'},
            stdout=log, stderr=log, check=False)
    if built.returncode:
        OUT.print(f'{row}: no environment, see .state/matrix/{row}.log')
        return
    for suite in suites:
        _run_suite(row, suite,
                   [sys.executable] if suite == 'processes' else python,
                   environment)


def _run_suite(row, suite, python, environment):
    before, began = stamp(row, suite), time.monotonic()
    log = STATE / f'{row}-{suite}.log'
    with open(log, 'w') as output:
        subprocess.run(
            [*python, ROOT / 'tools/run_tests.py', suite], cwd=ROOT,
            env=environment, stdout=output, stderr=output, check=False)
    counts = COUNTS.findall(log.read_text())
    if not counts:
        OUT.print(f'{row}: {suite} did not end, see {log.relative_to(ROOT)}')
        return
    passed, failed, skipped = map(int, counts[-1])
    (STATE / f'{row}-{suite}.json').write_text(json.dumps({
        'stamp': before, 'passed': passed, 'failed': failed,
        'skipped': skipped, 'seconds': round(time.monotonic() - began),
        'day': datetime.date.today().isoformat()}))
    OUT.print(f'{row}: {suite}: {passed} passed, {failed} failed, '
              f'{skipped} skipped')


def table():
    """Return the rows of the table: what was run, and which row was not."""
    rows = []
    for row, python in ROWS.items():
        ran = {suite: found for (name, suite), found in kept().items()
               if name == row}
        for suite in dict.fromkeys([*suites_of(row), *sorted(ran)]):
            if found := ran.get(suite):
                rows.append((
                    _name(row), python, suite, found['passed'],
                    found['skipped'], found['failed'], found['seconds'],
                    'yes' if present(row, suite) else 'an earlier one'))
        if not ran:
            rows.append((_name(row), python, '', '', '', '', '', 'not run'))
    return rows


def written():
    """Return the rows of the documentation, with what was run since.

    A row that has not run all of its suites on the present code stays as it
    was written.
    """
    with open(DOCS, encoding='utf-8', newline='') as page:
        before = {tuple(line[:2]): line[4:] for line in csv.reader(page)}
    lines = []
    for row, python in ROWS.items():
        first = (_name(row), python)
        highest = _highest(row)
        lines.append((*first, highest, releases.next_to(highest),
                      *(_counts(row) or before.get(first, ['not run']))))
    return lines


def _counts(row):
    found = [present(row, suite) for suite in suites_of(row)]
    if None in found:
        return None
    return (*(sum(one[key] for one in found)
              for key in ('passed', 'skipped', 'failed')),
            max(one['day'] for one in found))


def _highest(row):
    return releases.DOCUMENTED[int(row.partition('-')[0])]


def _name(row):
    return row.partition('-')[0] + (' of Debian 12' if row == DEBIAN else '')


def jobs():
    """Return how many rows fit into the memory and the processors."""
    memory = os.sysconf('SC_AVPHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
    return max(1, min(memory // MEMORY_OF_A_ROW, os.cpu_count() // 2))


def run_all(rows, suites, at_once):
    """Run what is not green yet, several rows at a time.

    :param suites: None stands for those that a row runs by itself.
    """
    due = {row: [suite for suite in suites or suites_of(row)
                 if not is_green(row, suite)] for row in rows}
    results.run_all('rows', [functools.partial(run, row, due[row])
                             for row in rows if due[row]], at_once)


def main():
    """Run the rows, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--suites', type=lambda value: value.split(','))
    parser.add_argument('--jobs', type=int, default=jobs())
    parser.add_argument('--write-docs', action='store_true')
    parser.add_argument('--show', action='store_true', help='run nothing')
    parser.add_argument('rows', nargs='*', metavar='ROW')
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f'no such row: {", ".join(sorted(unknown))}; there are '
                     f'{", ".join(ROWS)}')
    rows = options.rows or list(ROWS)
    if not options.show:
        run_all(rows, options.suites, options.jobs)
    tables.show(HEADER, table())
    if options.write_docs:
        tables.write_csv(DOCS, WRITTEN, written())
    green = all(is_green(row, suite) for row in rows
                for suite in options.suites or suites_of(row))
    print('all rows are green' if green else 'not all rows are green',
          flush=True)
    return 0 if green else 1


if __name__ == '__main__':
    sys.exit(main())
