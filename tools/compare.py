# SPDX-License-Identifier: Apache-2.0

"""Run tests of others with the package and without, and compare how they end.

"nova" are Nova's own functional tests, and ours of what Nova itself does. What
passes with the package is not run without it. "tempest" are Tempest's tests of
servers on the cloud of "make cloud", which is started, and has its Nova
restarted in the other mode in between. A test that failed in either mode is
run again alone in both. The exit code is not 0 if a test ends otherwise than
without the package. PATTERN is a regular expression for names of tests.
"""

import argparse
import collections
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
import subunit
import testtools

import run_tempest
import run_tests

ROOT = run_tests.ROOT
STOCK, ENABLED = 'stock', 'enabled'
PASSED, FAILED, NOT_RUN = 'passed', 'failed', 'not run'
# By their status in a stream of subunit; all others have failed.
OUTCOMES = {'success': PASSED, 'xfail': PASSED, 'skip': 'skipped'}
JOBS = str(os.cpu_count())
# As make cloud has it.
CLOUD = pathlib.Path(os.environ.get(
    'CELL0_REBUILD_CLOUD', ROOT / '.state' / 'openstack')).resolve()


class Nova:
    """Nova's own functional tests, and ours of what Nova itself does."""

    pattern = ''
    folder = ROOT
    # To be run without the package if it ended so with it.
    suspect = ('skipped', FAILED, NOT_RUN)

    def switch(self, mode):
        """Have the tests run in a mode."""
        os.environ['PYTHONPATH'] = f'{self.source()}:{ROOT}'
        os.environ['CELL0_REBUILD_NOVA_TESTS'] = mode

    def listing(self):
        """Return the command line that lists the tests."""
        return run_tests.stestr('list', 'upstream')

    def command(self, *options):
        """Return the command line of "stestr run"."""
        return run_tests.stestr('run', 'upstream', *options)

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


class Tempest:
    """Tempest's tests of servers, on the cloud of "make cloud"."""

    pattern = r'^tempest\.api\.compute\.servers\.'
    folder = run_tempest.FOLDER
    suspect = (PASSED, *Nova.suspect)

    def switch(self, mode):
        """Have the cloud run in a mode, and Tempest configured for it."""
        # What Tempest's own jobs have; the servers here are not fast.
        os.environ.setdefault('OS_TEST_TIMEOUT', '1200')
        stock = mode == STOCK
        subprocess.run(
            ['make', '--no-print-directory', 'cloud',
             f'ARGS={"--stock" if stock else ""}'], cwd=ROOT, check=True,
            stdout=subprocess.DEVNULL)
        os.environ['OS_CLIENT_CONFIG_FILE'] = str(CLOUD / 'clouds.yaml')
        run_tempest.prepare(openstack.connect('admin'), stock=stock)

    def listing(self):
        """Return the command line that lists the tests."""
        if not (self.folder / '.stestr').exists():
            # "tempest run" makes it too late, when it runs tests.
            stestr = pathlib.Path(sys.executable).parent / 'stestr'
            subprocess.run([stestr, 'init'], cwd=self.folder, check=True)
        return run_tempest.command('--list-tests')

    def command(self, *options):
        """Return the command line of "tempest run"."""
        return run_tempest.command(*options)


class Comparison:
    """How tests end without the package and with it."""

    def __init__(self, suite, tests):
        """:param suite: one of those above."""
        self.suite, self.tests = suite, tests
        self.ends = {mode: dict.fromkeys(tests, NOT_RUN)
                     for mode in (ENABLED, STOCK)}
        self._whys = {}

    def run(self):
        """Run the tests in both modes, and then alone what failed."""
        self._run(ENABLED, self.tests)
        self._run(STOCK, [test for test in self.tests if self.ends[
            ENABLED][test] in self.suite.suspect])
        failed = [test for test in self.tests if FAILED in (
            self.ends[ENABLED][test], self.ends[STOCK][test])]
        for mode in (STOCK, ENABLED):
            self._run(mode, failed, '1')

    def _run(self, mode, tests, jobs=JOBS):
        if not tests:
            return
        print(f'{mode}: {len(tests)} tests are run', flush=True)
        self.suite.switch(mode)
        result = testtools.StreamToDict(
            lambda test: self._keep(mode, **test))
        with tempfile.NamedTemporaryFile('w') as names:
            print(*tests, sep='\n', file=names, flush=True)
            with subprocess.Popen(
                    self.suite.command('--subunit', '--load-list', names.name,
                                       '--concurrency', jobs),
                    cwd=self.suite.folder, stdout=subprocess.PIPE,
                    env=run_tests.environment('upstream')) as process:
                result.startTestRun()
                subunit.ByteStreamToStreamResult(
                    process.stdout, non_subunit_name='stdout').run(result)
                result.stopTestRun()

    def _keep(self, mode, *, id, status, details, **others):
        if status == 'exists':
            return
        # What happens to a class happens to its tests.
        found = re.fullmatch(r'(?:setUp|tearDown)Class \((.*)\)', id)
        for name in [name for name in self.tests if name.startswith(
                f'{found[1]}.')] if found else [id]:
            self.ends[mode][name] = OUTCOMES.get(status, FAILED)
            self._whys[mode, name] = '\n'.join(
                detail.as_text() for key, detail in details.items()
                if 'traceback' in key)

    def wrong(self):
        """Return those that end otherwise with the package, or not at all."""
        return [test for test in self.tests
                if self.ends[ENABLED][test] == NOT_RUN or (
                    self.ends[ENABLED][test] in self.suite.suspect
                    and self.ends[ENABLED][test] != self.ends[STOCK][test])]

    def show(self):
        """Print how many tests ended how, and what is wrong."""
        for mode, ends in self.ends.items():
            counts = collections.Counter(ends.values())
            print(f'{mode}:', ', '.join(
                f'{count} {end}' for end, count in counts.items()))
        for test in self.tests:
            if FAILED in (self.ends[ENABLED][test], self.ends[STOCK][test]):
                print(f'{test}: {self.ends[STOCK][test]} without the package, '
                      f'{self.ends[ENABLED][test]} with it')
        for test in self.wrong():
            print(f'FAILED  not as without the package: {test}',
                  self._whys.get((ENABLED, test), ''), sep='\n')


def main():
    """Run the tests, show the comparison and return the exit code."""
    suites = {'nova': Nova(), 'tempest': Tempest()}
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('suite', choices=suites)
    parser.add_argument('pattern', nargs='?', metavar='PATTERN')
    options = parser.parse_args()
    suite = suites[options.suite]
    suite.switch(ENABLED)
    listed = subprocess.run(
        suite.listing(), cwd=suite.folder, text=True, check=True,
        env=run_tests.environment('upstream'), stdout=subprocess.PIPE)
    comparison = Comparison(suite, [
        test for test in re.findall(
            r'(?m)^(?:tests|nova|tempest|cell0_rebuild_tempest_plugin)\..+$',
            listed.stdout)
        if re.search(options.pattern or suite.pattern, test)])
    comparison.run()
    comparison.show()
    wrong = comparison.wrong()
    print(f'{len(comparison.tests)} tests, {len(wrong)} not as without the '
          f'package')
    return 1 if wrong or not comparison.tests else 0


if __name__ == '__main__':
    sys.exit(main())
