#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Run Nova's own functional tests with the package and without; compare.

Usage: run_nova_tests.py [--quick] [--jobs N] [--again] [--write-docs]
                         [PATTERN]

PATTERN selects tests by a regular expression that "GROUP: NAME" matches. What
has a result is not run again until a file of the package changes, so that a
run which was interrupted goes on where it was. A test that failed with the
package or without is run again alone in both ways. The exit code is not 0 if a
test passes without the package and not with it. --write-docs writes the table
into the documentation.
"""

import argparse
import collections
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

from rich import progress

import run_tests
import tables

ROOT = run_tests.ROOT
OUT = run_tests.OUT
SUITE = 'upstream'
DOCS = ROOT / 'doc/source/contributor/nova-tests-table.rst'
STATE = ROOT / '.state' / SUITE
STOCK, ENABLED = MODES = ('stock', 'enabled')
ENDS = ('passed', 'failed', 'skipped')
HEADER = ('group', 'tests', *ENDS, *(f'with: {end}' for end in ENDS),
          'worse')

# The groups, and what the names of their tests start with after PREFIX. A test
# belongs to the first that fits.
PREFIX = 'nova.tests.functional.'
GROUPS = {
    'regressions': r'regressions',
    'servers and rebuild': r'test_servers\b',
    'volumes': r'test_boot_from_volume|test_multiattach|test_cross_az_attach'
               r'|compute.test_attached_volumes',
    'instance actions': r'test_instance_actions|test_server_faults',
    'RequestSpec and BuildRequest': r'db.test_(request_spec|build_request)',
    'cells': r'test_cross_cell|test_nova_manage|db.test_\w+_mapping'
             r'|db.test_(archive|compute_api|connection_switch)'
             r'|compute.test_instance_list|test_compute_mgr',
    'quotas': r'db.test_quota|test_unified_limits',
    'API samples of servers':
        r'api_sample_tests.test_(servers?|instance_actions|multiple_create'
        r'|preserve_ephemeral_rebuild|block_device_mapping_boot|versions)\b',
    'scheduling': r'test_(scheduler|server_group|servers_|aggregates'
                  r'|availability_zones|routed_networks|json_filter)',
    'other API samples': r'api_sample_tests',
    'notifications': r'notification_sample_tests',
    'libvirt': r'libvirt',
    'all others': r'',
}


class Log(run_tests.Report):
    """Keeps how each test ended."""

    def __init__(self, title, total, bar, path, alone):
        super().__init__(title, total, bar)
        self._path = path
        self._alone = alone

    def tell(self, test, outcome):
        line = {'test': test['id'], 'outcome': outcome, 'alone': self._alone}
        if outcome == 'failed':
            line['why'] = run_tests.traceback_of(test)
        with open(self._path, 'a', encoding='utf-8') as file:
            print(json.dumps(line), file=file)


class Results:
    """How the tests ended, by mode, in this run and in those before it."""

    def __init__(self, again):
        version = importlib.metadata.version('nova')
        digest = hashlib.sha256()
        for path in sorted((ROOT / 'cell0_rebuild').rglob('*.py')):
            digest.update(path.read_bytes())
        STATE.mkdir(parents=True, exist_ok=True)
        self.paths = {
            STOCK: STATE / f'{version}.jsonl',
            ENABLED: STATE / f'{version}-{digest.hexdigest()[:12]}.jsonl'}
        if again:
            for path in self.paths.values():
                path.unlink(missing_ok=True)

    def read(self, mode, alone=None):
        """Return {test: its last line in the log}."""
        path = self.paths[mode]
        text = path.read_text(encoding='utf-8') if path.exists() else ''
        lines = map(json.loads, text.splitlines())
        return {line['test']: line for line in lines
                if alone in (None, line['alone'])}

    def failed(self, tests):
        """Return those that failed in either mode when run with others."""
        found = [self.read(mode, False) for mode in MODES]
        return [test for test in tests if any(
            lines.get(test, {}).get('outcome') == 'failed'
            for lines in found)]

    def only_without(self, tests):
        """Return those that pass without the package and not with it."""
        without, with_us = (self.read(mode) for mode in MODES)
        return [test for test in tests
                if without.get(test, {}).get('outcome') == 'passed'
                and with_us.get(test, {}).get('outcome') != 'passed']


def group_of(test):
    """Return the group that a test belongs to."""
    return next(group for group, start in GROUPS.items()
                if re.match(start, test.removeprefix(PREFIX)))


def source_tree():
    """Return a folder that has the installed Nova beside its doc folder.

    Tests of samples look for the latter there, and the wheel lacks it.
    """
    version = importlib.metadata.version('nova')
    folder = ROOT / '.state' / f'nova-{version}'
    if (folder / 'nova').exists():
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
             '--no-build-isolation', '--no-binary', 'nova', '--dest', scratch,
             f'nova=={version}'], check=True)
        archive, = pathlib.Path(scratch).iterdir()
        with tarfile.open(archive) as source:
            source.extractall(folder.parent, filter='data', members=[
                member for member in source.getmembers()
                if member.name.startswith(f'nova-{version}/doc/')])
    package = pathlib.Path(importlib.util.find_spec('nova').origin).parent
    (folder / 'nova').symlink_to(package)
    return folder


def run(mode, tests, results, bar, jobs, alone=False):
    """Run those of the tests that have no result yet."""
    known = results.read(mode, alone)
    wanted = [test for test in tests if test not in known]
    if not wanted:
        return
    os.environ['CELL0_REBUILD_NOVA_TESTS'] = mode
    os.environ['CELL0_REBUILD_NOVA_MODULES'] = ' '.join(sorted({
        test.partition('(')[0].rsplit('.', 2)[0] for test in wanted}))
    report = Log(f'{mode}{" again" if alone else ""}', len(wanted), bar,
                 results.paths[mode], alone)
    with tempfile.NamedTemporaryFile('w') as names:
        print(*wanted, sep='\n', file=names, flush=True)
        run_tests.follow(SUITE, run_tests.stestr(
            'run', SUITE, '', '--subunit', '--load-list', names.name,
            '--concurrency', str(jobs)), report)


def run_all(tests, results, options):
    """Run the tests in both modes, and then alone what failed."""
    with progress.Progress(*run_tests.COLUMNS, console=OUT) as bar:
        run(ENABLED, tests, results, bar, options.jobs)
        if options.quick:
            with_us = results.read(ENABLED)
            tests = [test for test in tests if with_us.get(test, {}).get(
                'outcome') != 'passed']
        run(STOCK, tests, results, bar, options.jobs)
        failed = results.failed(tests)
        for mode in MODES:
            run(mode, failed, results, bar, 1, alone=True)


def rows(groups, results):
    """Return the rows of the table."""
    found = [results.read(mode) for mode in MODES]
    result = []
    for group, tests in groups.items():
        counts = [collections.Counter(
            outcomes[test]['outcome'] for test in tests if test in outcomes)
            for outcomes in found]
        result.append((
            group, len(tests), *(count[end] for count in counts
                                 for end in ENDS),
            len(results.only_without(tests))))
    sums = [sum(column) for column in list(zip(*result))[1:]]
    return [*result, ('all', *sums)]


def show(tests, results, table_rows):
    """Print the table, and which tests failed, and when."""
    tables.show(OUT, HEADER, table_rows)
    for test in results.failed(tests):
        ends = [results.read(mode, alone).get(test, {}).get('outcome', '-')
                for mode in MODES for alone in (False, True)]
        OUT.print('{}: {}, alone {}; with the package {}, alone {}'.format(
            test, *ends), markup=False)
    with_us = results.read(ENABLED)
    for test in results.only_without(tests):
        OUT.print(f'FAILED  only with the package: {test}', style='red',
                  markup=False)
        OUT.print(with_us.get(test, {}).get('why', ''), markup=False)


def main():
    """Run the tests, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--write-docs', action='store_true')
    parser.add_argument('--again', action='store_true',
                        help='forget the results there are')
    parser.add_argument('--quick', action='store_true',
                        help='without the package, run only what does not '
                             'pass with it')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('pattern', nargs='?', default='',
                        metavar='PATTERN')
    options = parser.parse_args()
    results = Results(options.again)
    os.environ['PYTHONPATH'] = f'{source_tree()}:{ROOT}'
    os.environ['CELL0_REBUILD_NOVA_TESTS'] = STOCK
    groups = {group: [] for group in GROUPS}
    for test in run_tests.listed(SUITE, ''):
        group = group_of(test)
        if re.search(options.pattern, f'{group}: {test}'):
            groups[group].append(test)
    groups = {group: tests for group, tests in groups.items() if tests}
    tests = [test for group in groups.values() for test in group]
    run_all(tests, results, options)
    table_rows = rows(groups, results)
    show(tests, results, table_rows)
    if options.write_docs:
        tables.write(
            OUT, DOCS, 'tools/run_nova_tests.py', HEADER, table_rows)
    worse = table_rows[-1][-1]
    print(f'{worse} tests pass only without the package', flush=True)
    return 1 if worse else 0


if __name__ == '__main__':
    sys.exit(main())
