# SPDX-License-Identifier: Apache-2.0

"""Run the named suites under stestr, with a progress display and a summary.

Usage: run_tests.py SUITE [SUITE ...] [PATTERN]
       run_tests.py SUITE [SUITE ...] OPTION ... [PATTERN]

A suite is a folder of tests/, or "eventlet" or "threads": the main functional
tests in Nova's other concurrency mode. "processes" are the integration tests
that a Nova of any environment can pass. "main", "commands" and "waiting" are
the tests that say most in least time, for a release of Nova that CI does not
run all of them on. "faults" runs a sample of the faults that
tools/run_faults.py runs all of, and "races" one of the orders that
tools/run_races.py runs all of. A suite with "few-" before its name is the part
of it that CI runs. PATTERN selects tests by regular expression. With
options of "stestr run", like "--failing" or "--serial", stestr shows its own
display.
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

# What "make test" leaves to "make test-all", and "make few-e2e" to "make e2e",
# by the reason for it. Of a test with data of ddt, that is all but the first,
# too.
FURTHER = r'\.test_[^.\d]*_(?:0?[2-9]|[1-4]\d)(?:_[^.]*)?$'
LONG = {
    'it takes minutes': (
        'e2e.test_capacity', 'e2e.test_guests', 'e2e.test_restarts',
        'functional.api.test_fuzz', 'integration.test_crashes',
        'integration.test_soak', 'integration.test_stress',
        'unit.test_nova_tests', 'unit.test_simulation'),
    'each test waits for others that stall, or for transactions': (
        'functional.moves.test_resources',
        'functional.moves.test_stalled_burials',
        'integration.test_lost_updates'),
    'the faults have a part of it at each step': (
        'functional.moves.test_lost_commits',
        'functional.recovery.test_stages'),
    'the races have a part of it': ('functional.recovery.test_recover_races',),
    'each test builds several servers, of one kind each': (
        'functional.api.test_quota_window',
        'functional.moves.test_throttle',
        'functional.requests.test_comparison',
        'functional.requests.test_comparison_devices',
        'functional.requests.test_comparison_scheduling',
        'functional.requests.test_groups', 'functional.requests.test_later',
        'functional.requests.test_requests_accelerators',
        'functional.requests.test_requests_libvirt',
        'functional.requests.test_requests_pci',
        'functional.requests.test_requests_qos',
        'functional.volumes.test_images_table_long',
        'functional.volumes.test_volumes_kinds',
        'functional.volumes.test_volumes_later'),
    'unit tests have each form that is stored': (
        'functional.moves.test_unreadable',),
    'it asks nova-api as an owner does, and what decides has unit tests': (
        'functional.wait.test_broken_hosts', 'functional.wait.test_build',
        'functional.wait.test_burials', 'functional.wait.test_eligibility',
        'functional.wait.test_filters', 'functional.wait.test_images',
        'functional.wait.test_likeness', 'functional.wait.test_listing',
        'functional.wait.test_many_services', 'functional.wait.test_metrics',
        'functional.wait.test_notices', 'functional.wait.test_once',
        'functional.wait.test_operator_actions',
        'functional.wait.test_outages', 'functional.wait.test_probes',
        'functional.wait.test_rebuilds', 'functional.wait.test_shapes',
        'functional.wait.test_shares',
        'functional.wait.test_spec_key', 'functional.wait.test_states',
        'functional.wait.test_sweep', 'functional.wait.test_sweep_costs',
        'functional.wait.test_why'),
}
_MODULES = '|'.join(map(re.escape, itertools.chain(*LONG.values())))
_SHORT = rf'^(?!tests\.(?:{_MODULES})\.)'

# What is not a folder: where the tests are, which, and in which environment.
SPECIAL = {'eventlet': ('functional', r'functional\.moves\.test_rebuild\.',
                        {'OS_NOVA_DISABLE_EVENTLET_PATCHING': '0'}),
           'threads': ('functional', r'functional\.moves\.test_rebuild\.',
                       {'OS_NOVA_DISABLE_EVENTLET_PATCHING': '1'}),
           'main': ('functional',
                    r'functional\.\w+\.test_(rebuild|lost_messages|'
                    r'stale_attempts|delete_races|unaffected|volumes|quota|'
                    r'networks)\.',
                    {}),
           'commands': ('unit', r'unit\.test_(wait_)?commands?\.', {}),
           'waiting': ('functional',
                       r'functional\.wait\.test_(service|outages)\.', {}),
           'processes': ('integration', r'integration.test_rebuild\.', {}),
           'few-unit': (
               'unit', rf'{_SHORT}(?!.*test_(services|nova_drift).*{FURTHER})',
               {}),
           'few-functional': ('functional', rf'{_SHORT}(?!.*{FURTHER})', {}),
           'few-faults': ('faults', r'faults\.test_(?!kill)',
                          {'CELL0_REBUILD_FAULTS_SAMPLE': '3'}),
           'few-e2e': ('e2e', _SHORT, {}),
           'few-integration': ('integration', _SHORT, {}),
           # Each death of a real process takes seconds.
           'faults': ('faults', r'faults\.test_(?!kill)', {}),
           'few-races': ('races',
                         r'test_(turns|verdicts)|\.test_(a_|what_its)',
                         {'CELL0_REBUILD_RACES_SAMPLE': '2',
                          'CELL0_REBUILD_RACES_ONLY':
                              '^rebuild . (delete|update|recover)$'})}

# Those that start services, one test at a time.
SERIAL = ('integration', 'processes', 'upgrade', 'e2e')

# One that runs beside the others: it waits for services for most of its time.
BESIDE = ('few-integration',)

# A suite in which no test ends for so many times OS_TEST_TIMEOUT hangs.
SILENCE = 5

# The runs of stestr that have not ended.
RUNNING = set()

# What "make cover" measures: others kill processes or switch in threads.
MEASURED = ('unit', 'functional')

# What chance decides, and where its seed is.
SEEDS = {
    'faults': ('CELL0_REBUILD_FAULTS_SEED', 'which faults are tried'),
    'races': ('CELL0_REBUILD_RACES_SEED', 'which orders are tried'),
    'integration': ('CELL0_REBUILD_STRESS_SEED', 'what many clients do'),
}

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
