# SPDX-License-Identifier: Apache-2.0

"""Run Tempest on the cloud of "make cloud" with the package and without.

PATTERN is a regular expression for names of tests, by default those of
Tempest for the servers of Nova. The cloud is started if it is not running,
and has its Nova restarted in the other mode in between. The exit code is not 0
if a test ends with the package as it does not without. --write-docs writes the
sums into the documentation, and the table into .state/tables.
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import openstack

import comparison
import run_tempest
import run_tests
import tables

ROOT = run_tests.ROOT
OUT = run_tests.OUT
DOCS = ROOT / 'doc/source/contributor/tempest-table.rst'
SERVERS = r'^tempest\.api\.compute\.servers\.'
HEADER = comparison.header('tests of', 'different')
# As make cloud has it.
CLOUD = pathlib.Path(os.environ.get(
    'CELL0_REBUILD_CLOUD', ROOT / '.state' / 'openstack')).resolve()


class Log(comparison.Log):
    """Takes what happens to a class for what happens to its tests."""

    def __call__(self, test):
        found = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', test['id'])
        if not found:
            super().__call__(test)
            return
        for name in self._tests:
            if name.startswith(f'{found[1]}.'):
                super().__call__({**test, 'id': name})


def switch(mode):
    """Have the cloud run in a mode, and Tempest configured for it."""
    stock = mode == comparison.STOCK
    OUT.print(f'The cloud is started: {mode}')
    subprocess.run(
        ['make', '--no-print-directory', 'cloud',
         f'ARGS={"--stock" if stock else ""}'], cwd=ROOT, check=True,
        stdout=subprocess.DEVNULL)
    os.environ['OS_CLIENT_CONFIG_FILE'] = str(CLOUD / 'clouds.yaml')
    run_tempest.prepare(openstack.connect('admin'), stock=stock)


def listed(pattern):
    """Return the names of the tests that match."""
    if not (run_tempest.FOLDER / '.stestr').exists():
        # "tempest run" makes it too late, when it runs tests.
        stestr = pathlib.Path(sys.executable).parent / 'stestr'
        subprocess.run([stestr, 'init'], cwd=run_tempest.FOLDER, check=True)
    found = subprocess.run(
        run_tempest.command('--list-tests', '--regex', pattern),
        cwd=run_tempest.FOLDER, check=True, capture_output=True, text=True)
    return re.findall(r'^\S+\[.*\]$', found.stdout, re.MULTILINE)


def run(mode, tests, report, options):
    """Run tests on the cloud in a mode."""
    switch(mode)
    run_tests.follow('tempest', run_tempest.command(*options), report,
                     run_tempest.FOLDER)


def grouped(tests):
    """Return the tests by the module that they are in."""
    groups = {}
    for test in sorted(tests):
        module = test.partition('[')[0].split('.')[-3]
        groups.setdefault(module.removeprefix('test_'), []).append(test)
    return groups


def main():
    """Run the tests, print the table and return the exit code."""
    options = comparison.parser(__doc__, SERVERS).parse_args()
    # What Tempest's own jobs have; the servers here are not fast.
    os.environ.setdefault('OS_TEST_TIMEOUT', '1200')
    results = comparison.Results(
        run_tempest.FOLDER / 'results',
        importlib.metadata.version('tempest'), options.again)
    switch(comparison.ENABLED)
    table_rows = comparison.compare(
        run, grouped(listed(options.pattern)), results, results.different,
        HEADER, options, Log)
    if options.write_docs:
        tables.keep('tempest', HEADER, table_rows)
        tables.write(DOCS, 'tools/compare_tempest.py',
                     comparison.SHORT_HEADER, comparison.short(table_rows))
    different = table_rows[-1][-1]
    print(f'{different} tests end with the package as they do not without',
          flush=True)
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
