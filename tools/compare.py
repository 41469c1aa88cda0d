# SPDX-License-Identifier: Apache-2.0

"""Run tests of others with the package and without, and compare how they end.

"nova" are Nova's own functional tests; the exit code is not 0 if one passes
without the package and not with it. "tempest" are Tempest's tests of servers
on the cloud of "make cloud", which is started, and has its Nova restarted in
the other mode in between; the exit code is not 0 if one ends otherwise.
PATTERN is a regular expression for names of tests.

What has a result is not run again until a file of the package changes, so
that a run which was interrupted goes on where it was. A test that failed with
the package or without is run again alone in both ways.
"""

import argparse
import collections
import functools
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import openstack
from rich import progress
import subunit
import testtools

import results as logs
import run_tempest
import run_tests
import tables

ROOT, OUT = run_tests.ROOT, tables.OUT
STOCK, ENABLED = MODES = ('stock', 'enabled')
ENDS = ('passed', 'failed', 'skipped')
# By their status in a stream of subunit; all others have failed.
OUTCOMES = {'success': 'passed', 'xfail': 'passed', 'skip': 'skipped'}
HEADER = ('tests of', 'tests', *ENDS, *(f'with: {end}' for end in ENDS),
          'not as without')
# As make cloud has it.
CLOUD = pathlib.Path(os.environ.get(
    'CELL0_REBUILD_CLOUD', ROOT / '.state' / 'openstack')).resolve()


class Nova:
    """Nova's own functional tests, and ours of what Nova itself does."""

    name, suite, pattern = 'nova', 'upstream', ''
    docs = ROOT / 'doc/source/contributor/nova-tests-table.rst'

    def list(self):
        """Return the names of all tests."""
        os.environ['PYTHONPATH'] = f'{self.source()}:{ROOT}'
        os.environ['CELL0_REBUILD_NOVA_TESTS'] = STOCK
        run_tests.prepare(self.suite)
        found = subprocess.run(
            run_tests.stestr('list', self.suite), cwd=ROOT, text=True,
            env=run_tests.environment(self.suite), stdout=subprocess.PIPE,
            check=True)
        return [line for line in found.stdout.splitlines()
                if line.startswith(('tests.', 'nova.tests.'))]

    def run(self, mode, tests, log, options):
        """Run tests in a mode.

        :param log: hears how they end.
        :param options: of "stestr run".
        """
        os.environ['CELL0_REBUILD_NOVA_TESTS'] = mode
        os.environ['CELL0_REBUILD_NOVA_MODULES'] = ' '.join(sorted({
            test.partition('(')[0].rsplit('.', 2)[0] for test in tests
            if test.startswith('nova.tests.functional.')}))
        follow(run_tests.stestr('run', self.suite, *options), log)

    def source(self):
        """Return a folder that has the installed Nova beside its doc folder.

        Tests of samples look for the latter there, and the wheel lacks it.
        """
        version = importlib.metadata.version('nova')
        folder = ROOT / '.state' / f'nova-{version}'
        if (folder / 'nova').exists():
            return folder
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(
                [sys.executable, '-m', 'pip', 'download', '--quiet',
                 '--no-deps', '--no-build-isolation', '--no-binary', 'nova',
                 '--dest', scratch, f'nova=={version}'], check=True)
            archive, = pathlib.Path(scratch).iterdir()
            with tarfile.open(archive) as source:
                source.extractall(folder.parent, filter='data', members=[
                    member for member in source.getmembers()
                    if member.name.startswith(f'nova-{version}/doc/')])
        package = pathlib.Path(importlib.util.find_spec('nova').origin).parent
        (folder / 'nova').symlink_to(package)
        return folder

    def is_wrong(self, without, with_us):
        """Tell whether it matters that a test ended so."""
        return without == 'passed' != with_us


class Tempest:
    """Tempest's tests of servers, on the cloud of "make cloud"."""

    name, pattern = 'tempest', r'^tempest\.api\.compute\.servers\.'
    docs = ROOT / 'doc/source/contributor/tempest-table.rst'

    def list(self):
        """Return the names of all tests, as the cloud has them."""
        # What Tempest's own jobs have; the servers here are not fast.
        os.environ.setdefault('OS_TEST_TIMEOUT', '1200')
        self.switch(ENABLED)
        if not (run_tempest.FOLDER / '.stestr').exists():
            # "tempest run" makes it too late, when it runs tests.
            stestr = pathlib.Path(sys.executable).parent / 'stestr'
            subprocess.run(
                [stestr, 'init'], cwd=run_tempest.FOLDER, check=True)
        found = subprocess.run(
            run_tempest.command('--list-tests'), cwd=run_tempest.FOLDER,
            check=True, capture_output=True, text=True)
        return re.findall(r'^\S+\[.*\]$', found.stdout, re.MULTILINE)

    def run(self, mode, tests, log, options):
        """Run tests in a mode."""
        self.switch(mode)
        follow(run_tempest.command(*options), log, run_tempest.FOLDER)

    def switch(self, mode):
        """Have the cloud run in a mode, and Tempest configured for it."""
        stock = mode == STOCK
        OUT.print(f'The cloud is started: {mode}')
        subprocess.run(
            ['make', '--no-print-directory', 'cloud',
             f'ARGS={"--stock" if stock else ""}'], cwd=ROOT, check=True,
            stdout=subprocess.DEVNULL)
        os.environ['OS_CLIENT_CONFIG_FILE'] = str(CLOUD / 'clouds.yaml')
        run_tempest.prepare(openstack.connect('admin'), stock=stock)

    def is_wrong(self, without, with_us):
        """Tell whether it matters that a test ended so."""
        return without != with_us


def follow(command, log, folder=ROOT):
    """Run a command of stestr, and have a log hear of each test's end."""
    with subprocess.Popen(
            command, cwd=folder, env=run_tests.environment(Nova.suite),
            stdout=subprocess.PIPE) as process:
        result = testtools.StreamToDict(log)
        result.startTestRun()
        subunit.ByteStreamToStreamResult(
            process.stdout, non_subunit_name='stdout').run(result)
        result.stopTestRun()


class Log:
    """Keeps how each test ended."""

    def __init__(self, tests, path, alone, heard=lambda: None):
        """:param heard: called for each test."""
        self._tests, self._path = tests, path
        self._alone, self._heard = alone, heard

    def __call__(self, test):
        if test['status'] == 'exists':
            return
        # What happens to a class happens to its tests.
        found = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', test['id'])
        for name in [name for name in self._tests if name.startswith(
                f'{found[1]}.')] if found else [test['id']]:
            self._keep(name, test)

    def _keep(self, name, test):
        outcome = OUTCOMES.get(test['status'], 'failed')
        line = {'test': name, 'outcome': outcome, 'alone': self._alone}
        if outcome == 'failed':
            line['why'] = '\n'.join(
                detail.as_text() for key, detail in test['details'].items()
                if 'traceback' in key)
        logs.write(self._path, **line)
        self._heard()


class Comparison:
    """How the tests ended, by mode, in this run and in those before it.

    :param suite: one of those above.
    :param folder: that the results are kept in.
    :param again: forget those of before.
    """

    def __init__(self, suite, folder, again=False):
        self.suite = suite
        folder.mkdir(parents=True, exist_ok=True)
        version = importlib.metadata.version(suite.name)
        stamp = logs.stamp(['cell0_rebuild'])[:12]
        self.paths = {STOCK: folder / f'{version}.jsonl',
                      ENABLED: folder / f'{version}-{stamp}.jsonl'}
        if again:
            for path in self.paths.values():
                path.unlink(missing_ok=True)

    def read(self, mode, alone=None):
        """Return {test: its last line in the log}."""
        return {line['test']: line for line in logs.lines(self.paths[mode])
                if alone in (None, line['alone'])}

    def ends(self, mode, alone=None):
        """Return {test: its last outcome}."""
        return {test: line['outcome']
                for test, line in self.read(mode, alone).items()}

    def failed(self, tests):
        """Return those that failed in either mode when run with others."""
        found = [self.ends(mode, False) for mode in MODES]
        return [test for test in tests
                if any(ends.get(test) == 'failed' for ends in found)]

    def wrong(self, tests):
        """Return those that ended as they may not, or not at all."""
        without, with_us = (self.ends(mode) for mode in MODES)
        return [test for test in tests if test not in with_us
                or self.suite.is_wrong(without.get(test), with_us[test])]

    def run(self, tests, jobs, quick=False):
        """Run the tests in both modes, and then alone what failed.

        :param quick: run without the package only what fails with it.
        """
        with progress.Progress(console=OUT) as bar:
            self._run(ENABLED, tests, jobs, False, bar)
            if quick:
                with_us = self.ends(ENABLED)
                tests = [test for test in tests
                         if with_us.get(test) != 'passed']
            self._run(STOCK, tests, jobs, False, bar)
            failed = self.failed(tests)
            for mode in MODES:
                self._run(mode, failed, 1, True, bar)

    def _run(self, mode, tests, jobs, alone, bar):
        known = self.read(mode, alone)
        wanted = [test for test in tests if test not in known]
        if wanted:
            task = bar.add_task(
                f'{mode}{" again" if alone else ""}', total=len(wanted))
            log = Log(wanted, self.paths[mode], alone,
                      functools.partial(bar.advance, task))
            with tempfile.NamedTemporaryFile('w') as names:
                print(*wanted, sep='\n', file=names, flush=True)
                self.suite.run(mode, wanted, log, [
                    '--subunit', '--load-list', names.name,
                    '--concurrency', str(jobs)])

    def rows(self, tests):
        """Return the rows of the table: of each module, and their sum."""
        modules = collections.defaultdict(list)
        for test in tests:
            modules[re.split(r'[(\[]', test)[0].split('.')[-3]].append(test)
        found = [self.ends(mode) for mode in MODES]
        return tables.summed([(
            name, len(group),
            *(collections.Counter(map(ends.get, group))[end]
              for ends in found for end in ENDS), len(self.wrong(group)))
            for name, group in sorted(modules.items())], 'all')

    def show(self, tests):
        """Print the table, and which tests failed, and when."""
        tables.show(HEADER, self.rows(tests))
        for test in self.failed(tests):
            ends = [self.ends(mode, alone).get(test, '-')
                    for mode in MODES for alone in (False, True)]
            OUT.print('{}: {}, alone {}; with the package {}, alone {}'.format(
                test, *ends), markup=False)
        with_us = self.read(ENABLED)
        for test in self.wrong(tests):
            OUT.print(f'FAILED  not as without the package: {test}',
                      style='red', markup=False)
            OUT.print(with_us.get(test, {}).get('why', ''), markup=False)


def short(rows):
    """Return the rows that tell of all tests together, by outcome."""
    *_, (_, _, *counts, wrong) = rows
    return [*zip(ENDS, counts[:len(ENDS)], counts[len(ENDS):]),
            ('not as without', '', wrong)]


def main():
    """Run the tests, print the table and return the exit code."""
    suites = {suite.name: suite for suite in (Nova(), Tempest())}
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--write-docs', action='store_true',
                        help='write sums into the documentation, and the '
                             'table into .state/tables')
    parser.add_argument('--again', action='store_true',
                        help='forget the results there are')
    parser.add_argument('--quick', action='store_true',
                        help='without the package, run only what does not '
                             'pass with it')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('suite', choices=suites)
    parser.add_argument('pattern', nargs='?', metavar='PATTERN')
    options = parser.parse_intermixed_args()
    suite = suites[options.suite]
    comparison = Comparison(
        suite, ROOT / '.state/compare' / suite.name, options.again)
    pattern = options.pattern or suite.pattern
    tests = [test for test in suite.list() if re.search(pattern, test)]
    comparison.run(tests, options.jobs, options.quick)
    comparison.show(tests)
    rows = comparison.rows(tests)
    if options.write_docs:
        tables.keep(suite.name, HEADER, rows)
        tables.write(suite.docs, f'tools/compare.py {suite.name}', (
            'tests that', 'without the package', 'with it'), short(rows))
    wrong = comparison.wrong(tests)
    print(f'{len(tests)} tests, {len(wrong)} not as without the package',
          flush=True)
    return 1 if wrong or not tests else 0


if __name__ == '__main__':
    sys.exit(main())
