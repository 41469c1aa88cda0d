# SPDX-License-Identifier: Apache-2.0

"""Run the tests on every release of Nova that is supported, and on Debian's.

A row is a release, in an environment of its own in .state/matrix; 26-debian
is the one that Debian 12 ships, with all its own packages. The exit code is
not 0 if a test failed, or a suite did not run.

--write-docs writes the rows that were run into the table of the documentation.
Its other rows stay, so that several machines, or days, can share them.
"""

import argparse
import csv
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import releases  # noqa: E402
from tools import tables  # noqa: E402

STATE = ROOT / '.state/matrix'
SUITES = ('unit', 'functional')
DOCS = ROOT / 'doc/source/admin/compatibility.csv'
WRITTEN = ('Nova', 'Python', 'Its highest microversion',
           'The added microversion', 'Passed', 'Skipped', 'Failed', 'Day',
           'Commit')

DEBIAN = '26-debian'
# What a suite tells that did not run.
FAILED = (0, 1, 0)
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


def run(row, suites):
    """Build the environment of a row and run suites in it.

    :returns: how many tests passed, failed and were skipped, of each suite.
    """
    folder, release = STATE / row, row.partition('-')[0]
    environment = {
        **os.environ,
        'CELL0_REBUILD_STATE': str(folder.relative_to(ROOT) / 'stestr'),
        # For the tests that are not in it, but start its programs.
        'CELL0_REBUILD_NOVA': str(folder),
        'CELL0_REBUILD_NOVA_RELEASE': release}
    build, python = (
        (['tools/debian/environment.sh', folder],
         [folder / 'enter', 'python3']) if row == DEBIAN else
        (['tools/environment.sh', folder / 'venv', release],
         [folder / 'venv/bin/python']))
    if _run(build, {**environment, 'PYTHON': f'python{ROWS[row]}'}, row):
        return [FAILED] * len(suites)
    found = []
    for suite in suites:
        _run([*([sys.executable] if suite == 'processes' else python),
              'tools/run_tests.py', suite], environment, f'{row}-{suite}')
        told = re.findall(
            r'(?m)^\S+ +(\d+) passed, (\d+) failed, (\d+) skipped in ',
            (STATE / f'{row}-{suite}.log').read_text())
        found.append(tuple(map(int, told[-1])) if told else FAILED)
    return found


def _run(command, environment, log):
    STATE.mkdir(parents=True, exist_ok=True)
    with open(STATE / f'{log}.log', 'w') as output:
        return subprocess.run(command, cwd=ROOT, env=environment, check=False,
                              stdout=output, stderr=output).returncode


def is_green(row, counts):
    """Tell whether a suite has passed on a row."""
    passed, failed, skipped = counts
    return bool(passed and not failed
                and not (skipped and row.partition('-')[0] == NEWEST))


def written(ran=None, counts=()):
    """Yield the rows of the documentation.

    :param ran: the name of one that was run now.
    :param counts: of all its suites together.
    """
    with open(DOCS, encoding='utf-8', newline='') as page:
        before = {tuple(line[:2]): line[4:] for line in csv.reader(page)}
    for row, python in ROWS.items():
        release = row.partition('-')[0]
        highest = releases.DOCUMENTED[int(release)]
        first = (release + ' of Debian 12' * (row == DEBIAN), python)
        last = before.get(first, ['not run'])
        if row == ran:
            passed, failed, skipped = counts
            last = [passed, skipped, failed, *tables.measured()]
        yield [*first, highest, releases.next_to(highest), *last]


def main():
    """Run the rows one after the other, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    part = parser.add_mutually_exclusive_group()
    part.add_argument('--suites', type=lambda value: value.split(','))
    part.add_argument('--write-docs', action='store_true')
    parser.add_argument('rows', nargs='*', metavar='ROW')
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f'no such row: {", ".join(sorted(unknown))}; there are '
                     f'{", ".join(ROWS)}')
    red = []
    for row in options.rows or ROWS:
        # What a distribution ships is started as it starts it.
        suites = options.suites or SUITES + ('processes',) * (row == DEBIAN)
        counts = run(row, suites)
        for suite, found in zip(suites, counts):
            print('{}: {}: {} passed, {} failed, {} skipped'.format(
                row, suite, *found), flush=True)
            if not is_green(row, found):
                red.append(f'{suite} on {row}')
        if options.write_docs:
            lines = [WRITTEN, *written(row, map(sum, zip(*counts)))]
            with open(DOCS, 'w', encoding='utf-8', newline='') as page:
                csv.writer(page, lineterminator='\n').writerows(lines)
    print(f'FAILED: {", ".join(red)}; see {STATE.relative_to(ROOT)}' if red
          else 'all rows are green')
    return int(bool(red))


if __name__ == '__main__':
    sys.exit(main())
