# SPDX-License-Identifier: Apache-2.0

"""Run Nova's own functional tests with the package and without; compare.

PATTERN selects tests by a regular expression that "GROUP: NAME" matches. The
exit code is not 0 if a test passes without the package and not with it.
"""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import comparison
import run_tests
import tables

ROOT = run_tests.ROOT
SUITE = 'upstream'
DOCS = ROOT / 'doc/source/contributor/nova-tests-table.rst'
STATE = ROOT / '.state' / SUITE
HEADER = comparison.header('group', 'worse')

# The groups, and what the names of their tests start with after PREFIX, if
# they are Nova's. A test belongs to the first that fits.
PREFIX = 'nova.tests.functional.'
GROUPS = {
    'what Nova loses or overwrites': r'tests.upstream',
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


def run(mode, tests, report, options):
    """Run tests of Nova in a mode."""
    os.environ['CELL0_REBUILD_NOVA_TESTS'] = mode
    os.environ['CELL0_REBUILD_NOVA_MODULES'] = ' '.join(sorted({
        test.partition('(')[0].rsplit('.', 2)[0] for test in tests
        if test.startswith(PREFIX)}))
    run_tests.follow(SUITE, run_tests.stestr('run', SUITE, '', *options),
                     report)


def main():
    """Run the tests, print the table and return the exit code."""
    parser = comparison.parser(__doc__)
    parser.add_argument('--quick', action='store_true',
                        help='without the package, run only what does not '
                             'pass with it')
    options = parser.parse_args()
    results = comparison.Results(
        STATE, importlib.metadata.version('nova'), options.again)
    os.environ['PYTHONPATH'] = f'{source_tree()}:{ROOT}'
    os.environ['CELL0_REBUILD_NOVA_TESTS'] = comparison.STOCK
    groups = {group: [] for group in GROUPS}
    for test in run_tests.listed(SUITE, ''):
        group = group_of(test)
        if re.search(options.pattern, f'{group}: {test}'):
            groups[group].append(test)
    groups = {group: tests for group, tests in groups.items() if tests}
    table_rows = comparison.compare(
        run, groups, results, results.only_without, HEADER, options)
    if options.write_docs:
        tables.write(DOCS, 'tools/run_nova_tests.py', HEADER, table_rows)
    worse = table_rows[-1][-1]
    print(f'{worse} tests pass only without the package', flush=True)
    return 1 if worse else 0


if __name__ == '__main__':
    sys.exit(main())
