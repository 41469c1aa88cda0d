# SPDX-License-Identifier: Apache-2.0

"""Run the named suites under stestr, with a progress display and a summary.

Usage: run_tests.py SUITE [SUITE ...] [PATTERN]
       run_tests.py SUITE [SUITE ...] OPTION ... [PATTERN]

A suite is a folder of tests/, or a part of one that tests/suites.yaml names;
one with "few-" before its name is the part that each change has to pass.
PATTERN selects tests by regular expression. With options of "stestr run", like
"--failing" or "--serial", stestr shows its own display.
"""

import collections
from concurrent import futures
import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from rich import console
from rich import progress
from stestr.commands import run as command_run
import subunit
import testtools
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import signatures  # noqa: E402

# Where stestr keeps the results of each suite, from ROOT. Without it, it is
# where stestr looks by itself: "stestr last" shows the suite that ran last.
STATE = os.environ.get('CELL0_REBUILD_STATE')
OUT = console.Console(soft_wrap=True)
COLUMNS = ('{task.description:<12}', progress.BarColumn(),
           progress.MofNCompleteColumn(), progress.TimeElapsedColumn(),
           '{task.fields[counts]}')

_SUITES = yaml.safe_load((ROOT / 'tests/suites.yaml').read_text())
FURTHER, LONG = _SUITES['further'], _SUITES['long']
_MODULES = '|'.join(map(re.escape, itertools.chain(*LONG.values())))
_SHORT = rf'^(?!tests\.(?:{_MODULES})\.)'

# What is not a folder: where the tests are, which, and in which environment.
SPECIAL = {
    name: (part['folder'],
           part['tests'].replace('SHORT', _SHORT).replace('FURTHER', FURTHER),
           part.get('environment', {}))
    for name, part in _SUITES['parts'].items()}
SERIAL, BESIDE = _SUITES['serial'], _SUITES['beside']
MEASURED, SEEDS = _SUITES['measured'], _SUITES['seeds']

# A suite in which no test ends for so many times OS_TEST_TIMEOUT hangs.
SILENCE = 5

# The runs of stestr that have not ended.
RUNNING = set()

# How a test ended, by its status; all others have failed.
OUTCOMES = {'success': 'passed', 'xfail': 'passed', 'skip': 'skipped'}


class Counts(collections.Counter):
    """How many tests have ended how."""

    def __str__(self):
        return ', '.join(f'{self[how]} {how}'
                         for how in ('passed', 'failed', 'skipped'))


class Report:
    """Shows what a suite is doing and counts how its tests end."""

    def __init__(self, suite, total, bar):
        self.counts = Counts()
        self.heard = time.monotonic()
        self._bar = bar
        self._task = bar.add_task(suite, total=total, counts=str(self.counts))

    def __call__(self, test):
        if test['status'] == 'exists':
            return
        outcome = OUTCOMES.get(test['status'], 'failed')
        self.heard = time.monotonic()
        self.counts[outcome] += 1
        self.tell(test, outcome)
        self._bar.update(self._task, advance=1, counts=str(self.counts))

    def tell(self, test, outcome):
        """Print what is to be known about a test."""
        if outcome == 'skipped':
            reason = test['details'].get('reason')
            OUT.print(f'skipped {test["id"]}: '
                      f'{reason.as_text() if reason else ""}', markup=False)
        elif outcome == 'failed':
            OUT.print(f'FAILED  {test["id"]}', style='red', markup=False)
            OUT.print(traceback_of(test), markup=False)


class Words(testtools.StreamResult):
    """Keeps what stestr says beside the results."""

    def __init__(self, into):
        """:param into: the descriptor of a file."""
        self._into = into

    def status(self, test_id=None, file_bytes=None, **others):
        if test_id is None and file_bytes:
            os.write(self._into, file_bytes)


def traceback_of(test):
    """Return the tracebacks of a test that failed."""
    return '\n'.join(detail.as_text()
                     for key, detail in test['details'].items()
                     if 'traceback' in key)


def listed(suite, pattern):
    """Return the names of the tests of a suite."""
    prepare(suite)
    found = subprocess.run(
        stestr('list', suite, pattern), cwd=ROOT, env=environment(suite),
        capture_output=True, text=True, check=False)
    if found.returncode:
        OUT.print(found.stdout + found.stderr, markup=False)
        sys.exit(f'the tests of the suite {suite} cannot be loaded')
    return [line for line in found.stdout.splitlines()
            if line.startswith(('tests.', 'nova.tests.'))]


def results_of(suite):
    """Return the folder with the results of a suite, from ROOT.

    stestr does not expect two runs at a time to write to one.
    """
    if suite in BESIDE:
        return f'{STATE or ".state"}/{suite}'
    return f'{STATE}/{suite}' if STATE else '.'


def prepare(suite):
    """Make the repository of results."""
    results = ROOT / results_of(suite)
    if not (results / '.stestr').exists():
        results.mkdir(parents=True, exist_ok=True)
        subprocess.run(stestr('init', suite, ''), cwd=ROOT, check=True)


def stestr(command, suite, pattern, *options):
    """Return the command line of stestr for a suite."""
    folder = SPECIAL[suite][0] if suite in SPECIAL else suite
    return [str(pathlib.Path(sys.executable).parent / 'stestr'),
            '--test-path', f'./tests/{folder}', '--top-dir', '.',
            '--repo-url', results_of(suite), command, *options,
            *([pattern] if pattern and command != 'init' else [])]


def whole(suite):
    """Return the suite of which "make test" runs a part."""
    return suite[len('few-'):] if suite.startswith('few-') else suite


def chosen(suite):
    """Return the pattern of a suite that is a part of a folder."""
    return SPECIAL[suite][1] if suite in SPECIAL else ''


def environment(suite):
    """Return the environment of the tests: the concurrency of this Nova.

    34 runs its services with threads, older ones under eventlet.
    """
    special = SPECIAL[suite][2] if suite in SPECIAL else {}
    # What stestr starts its workers with: not what PYTHON was for others.
    worker = sys.executable
    if suite in MEASURED and 'CELL0_REBUILD_COVER' in os.environ:
        worker = f'{worker} -m coverage run'
    threads = signatures.read(
        'nova.monkey_patch', '_get_concurrency_from_config') is not None
    return {**os.environ,
            'PYTHON': worker,
            'OS_NOVA_DISABLE_EVENTLET_PATCHING': '1' if threads else '0',
            'OS_TEST_TIMEOUT': os.environ.get('OS_TEST_TIMEOUT', '180'),
            **special}


def run(suite, pattern, bar):
    """Run one suite, or what matches a pattern, and return the counts."""
    seed(suite)
    # To load the modules takes longer than most selections of tests do.
    total = None if pattern else len(listed(suite, chosen(suite)))
    prepare(suite)
    report = Report(suite, total, bar)
    follow(suite, stestr('run', suite, pattern or chosen(suite), '--subunit',
                         *workers(suite, pattern)), report)
    return report.counts


def workers(suite, pattern=''):
    """Return the options that tell how many tests run at a time."""
    if whole(suite) in SERIAL or (suite == 'unit' and pattern):
        return ['--serial']
    # A functional test waits for half of its time, so one worker more than
    # there are processors has them all busy.
    return ['--concurrency', str((os.cpu_count() or 1) + 1)]


def seed(suite):
    """Tell what chance decides."""
    if whole(suite) in SEEDS:
        name, decided = SEEDS[whole(suite)]
        value = os.environ.setdefault(name, '1')
        OUT.print(f'{suite}: {decided} is chance; {name}={value}')


def follow(suite, command, report, folder=None):
    """Run a command of stestr and report each test as it ends."""
    wanted = environment(suite)
    silence = SILENCE * int(wanted['OS_TEST_TIMEOUT'])
    with tempfile.TemporaryFile('w+') as errors:
        process = subprocess.Popen(
            command, cwd=folder or ROOT,
            env={**wanted, 'PYTHONFAULTHANDLER': '1'},
            stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        RUNNING.add(process)
        ended = threading.Event()
        threading.Thread(
            target=end_if_silent,
            args=(process, report, silence, ended)).start()
        try:
            result = testtools.CopyStreamResult([
                testtools.StreamToDict(report), Words(errors.fileno())])
            result.startTestRun()
            subunit.ByteStreamToStreamResult(
                process.stdout, non_subunit_name='stdout').run(result)
            result.stopTestRun()
            code = process.wait()
        finally:
            ended.set()
            end(process, signal.SIGTERM)
            RUNNING.discard(process)
        if code < 0 or (code and not report.counts['failed']):
            errors.seek(0)
            OUT.print(errors.read()[-20000:], markup=False)
            OUT.print(f'FAILED  the suite {suite} ended with code {code}',
                      style='red')
            report.counts['failed'] += 1


def end_if_silent(process, report, silence, ended):
    """End a run in which no test ends any more, for so many seconds.

    Each of its processes tells then what its threads do: a test that hangs in
    its cleanup is beyond OS_TEST_TIMEOUT.
    """
    while not ended.wait(1):
        if time.monotonic() - report.heard > silence:
            end(process, signal.SIGABRT)
            return


def end(process, how):
    """Send a signal to a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def run_all(suites, pattern, bar):
    """Run suites, those of BESIDE while the others run one after another.

    :returns: of each suite its name, its counts and its seconds.
    """
    def timed(suite):
        start = time.monotonic()
        counts = run(suite, pattern, bar)
        return suite, counts, time.monotonic() - start

    with futures.ThreadPoolExecutor(1) as pool:
        beside = [pool.submit(timed, suite)
                  for suite in suites if suite in BESIDE]
        try:
            rows = [timed(suite) for suite in suites if suite not in BESIDE]
            return rows + [future.result() for future in beside]
        except BaseException:
            # Who interrupts the one run does not wait for the other.
            while futures.wait(beside, timeout=1).not_done:
                for process in tuple(RUNNING):
                    end(process, signal.SIGTERM)
            raise


def is_suite(name):
    """Tell whether an argument is the name of a suite."""
    return name in SPECIAL or (ROOT / 'tests' / name).is_dir()


def hand_on(suite, arguments):
    """Run one suite as "stestr run" does with these arguments.

    :returns: its exit code.
    """
    options = command_run.Run(None, None).get_parser(
        'stestr run').parse_args(arguments)
    seed(suite)
    prepare(suite)
    # An option that is given again later is the one that counts.
    command = stestr('run', suite, '' if options.filters else chosen(suite),
                     *workers(suite), *arguments)
    return subprocess.run(
        command, cwd=ROOT, env=environment(suite), check=False).returncode


def main(arguments):
    """Run the suites and return the exit code.

    An argument may be several words, as those of make and tox are.
    """
    arguments = ' '.join(arguments).split()
    suites = list(itertools.takewhile(is_suite, arguments))
    patterns = arguments[len(suites):]
    if any(argument.startswith('-') for argument in patterns):
        return max((hand_on(suite, patterns) for suite in suites), default=1)
    total = Counts()
    began = time.monotonic()
    with progress.Progress(*COLUMNS, console=OUT) as bar:
        rows = run_all(suites, '|'.join(patterns), bar)
    for suite, counts, seconds in rows:
        OUT.print(f'{suite:<12} {counts} in {seconds:.0f} s')
        total += counts
    OUT.print(f'all suites took {time.monotonic() - began:.0f} s')
    # Plain, for whoever reads the last line.
    print(total, flush=True)
    return 1 if total['failed'] or not total['passed'] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
