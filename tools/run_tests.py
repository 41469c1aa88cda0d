# SPDX-License-Identifier: Apache-2.0

"""Run suites of tests with stestr, and tell how many tests ended how.

Usage: run_tests.py SUITE [SUITE ...] [OPTION ...] [PATTERN ...]

A suite is a folder of tests/, or a part of one that tests/suites.yaml names.
PATTERN selects tests by regular expression. Options are those of "stestr run".
"""

import collections
from concurrent import futures
import contextlib
import io
import itertools
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from stestr.commands import run as command_run
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import signatures  # noqa: E402

# Where stestr keeps the results of each suite, from ROOT. Without it, it is
# where stestr looks by itself: "stestr last" shows the suite that ran last.
STATE = os.environ.get('CELL0_REBUILD_STATE')
# Whether the suites are measured that are.
COVER = 'CELL0_REBUILD_COVER' in os.environ

_SUITES = yaml.safe_load((ROOT / 'tests/suites.yaml').read_text())
FURTHER, LONG = _SUITES['further'], _SUITES['long']
_MODULES = '|'.join(map(re.escape, itertools.chain(*LONG.values())))
_SHORT = rf'^(?!tests\.(?:{_MODULES})\.)'
PARTS, SEEDS = _SUITES['parts'], _SUITES['seeds']
SERIAL, BESIDE = _SUITES['serial'], _SUITES['beside']
MEASURED = _SUITES['measured']

# A suite in which no test ends for so many times OS_TEST_TIMEOUT hangs.
SILENCE = 5

# The runs of stestr that have not ended.
RUNNING = set()

# How a test ended, by what stestr calls it.
OUTCOMES = {'Passed': 'passed', 'Expected Fail': 'passed',
            'Skipped': 'skipped', 'Failed': 'failed',
            'Unexpected Success': 'failed'}


def stestr(command, suite, *arguments):
    """Return the command line of stestr for a suite."""
    folder = PARTS[suite]['folder'] if suite in PARTS else suite
    return [str(pathlib.Path(sys.executable).parent / 'stestr'),
            '--test-path', f'./tests/{folder}', '--top-dir', '.',
            '--repo-url', results_of(suite), command, *arguments]


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
        subprocess.run(stestr('init', suite), cwd=ROOT, check=True)


def chosen(suite):
    """Return the pattern of a suite that is a part of a folder."""
    return PARTS[suite]['tests'].replace('SHORT', _SHORT).replace(
        'FURTHER', FURTHER) if suite in PARTS else ''


def environment(suite):
    """Return the environment of the tests: the concurrency of this Nova.

    34 runs its services with threads, older ones under eventlet.
    """
    # What stestr starts its workers with: not what PYTHON was for others.
    worker = sys.executable
    if suite in MEASURED and COVER:
        worker = f'{worker} -m coverage run'
    threads = signatures.read(
        'nova.monkey_patch', '_get_concurrency_from_config') is not None
    return {**os.environ,
            'PYTHON': worker, 'PYTHONFAULTHANDLER': '1',
            'OS_NOVA_DISABLE_EVENTLET_PATCHING': '1' if threads else '0',
            'OS_TEST_TIMEOUT': os.environ.get('OS_TEST_TIMEOUT', '180'),
            **PARTS.get(suite, {}).get('environment', {})}


def command(suite, arguments):
    """Return the command line that runs a suite, or a part of it.

    :param arguments: of "stestr run".
    """
    filters = command_run.Run(None, None).get_parser(
        'stestr run').parse_args(arguments).filters
    if whole(suite) in SERIAL or (suite == 'unit' and filters):
        workers = ['--serial']
    else:
        # A functional test waits for half of its time, so one worker more
        # than there are processors has them all busy.
        workers = ['--concurrency', str((os.cpu_count() or 1) + 1)]
    if suite == 'unit' and not COVER and arguments[-1:] == filters and (
            module := module_of(suite, filters[0])):
        return stestr(
            'run', suite, *arguments[:-1], '--no-discover', module)
    # An option that is given again later is the one that counts.
    return stestr('run', suite, *workers, *arguments,
                  *([] if filters else filter(None, [chosen(suite)])))


def module_of(suite, pattern):
    """Return the only module of a suite with a name; else None.

    Nothing else has to be loaded for it.
    """
    found = [path for path in (ROOT / 'tests' / suite).rglob('test_*.py')
             if path.stem == pattern]
    return '.'.join(found[0].relative_to(ROOT).with_suffix('').parts) if (
        len(found) == 1) else None


def whole(suite):
    """Return the suite of which "make test" runs a few."""
    return suite.replace('few-', '')


def run(suite, arguments, out):
    """Run a suite and write what stestr says.

    :returns: the counts of its tests, and a line that tells them.
    """
    began = time.monotonic()
    seed(suite, out)
    prepare(suite)
    code, said = follow(
        command(suite, ['--abbreviate', *arguments]), environment(suite), out)
    counts = collections.Counter()
    # Tests may show the totals of other runs.
    totals = said.rpartition('\nTotals\n')[2]
    for ended, count in re.findall(r'(?m)^ - ([\w ]+): (\d+)$', totals):
        counts[OUTCOMES[ended]] += int(count)
    if code and not counts['failed'] and 'match with anything' not in said:
        print(f'FAILED: {suite} ended with code {code}', file=out)
        counts['failed'] += 1
    return counts, (f'{suite:<16} {told(counts)} '
                    f'in {time.monotonic() - began:.0f} s')


def seed(suite, out=None):
    """Tell what chance decides."""
    if whole(suite) in SEEDS:
        name, decided = SEEDS[whole(suite)]
        value = os.environ.setdefault(name, '1')
        print(f'{suite}: {decided} is chance; {name}={value}', file=out)


def told(counts):
    """Return counts as text."""
    return ', '.join(f'{counts[how]} {how}'
                     for how in ('passed', 'failed', 'skipped'))


def follow(line, wanted, out):
    """Run a command line, and end it if it says nothing for long.

    Each of its processes tells then what its threads do: a test that hangs in
    its cleanup is beyond OS_TEST_TIMEOUT.

    :param wanted: its environment.
    :returns: its exit code, and what it said.
    """
    said, silence = [], SILENCE * int(wanted['OS_TEST_TIMEOUT'])
    with tempfile.TemporaryFile('w+') as errors, subprocess.Popen(
            line, cwd=ROOT, env=wanted, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True) as process:
        RUNNING.add(process)
        try:
            while True:
                if not select.select([process.stdout], [], [], silence)[0]:
                    end(process, signal.SIGABRT)
                if not (chunk := os.read(process.stdout.fileno(), 65536)):
                    break
                said.append(chunk.decode(errors='replace'))
                print(said[-1], end='', file=out, flush=True)
            code = process.wait()
        finally:
            end(process, signal.SIGTERM)
            RUNNING.discard(process)
        if code and not re.search(
                r'\nFailed |match with anything', ''.join(said)):
            errors.seek(0)
            print(errors.read()[-20000:], file=out)
    return code, ''.join(said)


def end(process, how):
    """Send a signal to a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def run_all(suites, patterns):
    """Run suites, those of BESIDE while the others run one after another.

    :returns: what "run" does, of each suite.
    """
    with futures.ThreadPoolExecutor(1) as pool:
        beside = {suite: (pool.submit(run, suite, patterns, out), out)
                  for suite in suites if suite in BESIDE
                  for out in [io.StringIO()]}
        try:
            rows = [run(suite, patterns, sys.stdout)
                    for suite in suites if suite not in beside]
            for future, out in beside.values():
                rows.append(future.result())
                print(out.getvalue(), end='')
            return rows
        except BaseException:
            # Who interrupts the one run does not wait for the other.
            while any(future.running() for future, _ in beside.values()):
                for process in tuple(RUNNING):
                    end(process, signal.SIGTERM)
                time.sleep(0.1)
            raise


def is_suite(name):
    """Tell whether an argument is the name of a suite."""
    return name in PARTS or (ROOT / 'tests' / name).is_dir()


def main(arguments):
    """Run the suites and return the exit code.

    An argument may be several words, as those of make and tox are.
    """
    arguments = ' '.join(arguments).split()
    suites = list(itertools.takewhile(is_suite, arguments))
    rest = arguments[len(suites):]
    if any(argument.startswith('-') for argument in rest):
        return max((hand_on(suite, rest) for suite in suites), default=1)
    total = collections.Counter()
    rows = run_all(suites, rest)
    for counts, line in rows:
        print(line)
        total += counts
    print(told(total), flush=True)
    return 1 if total['failed'] or not total['passed'] else 0


def hand_on(suite, arguments):
    """Run one suite as "stestr run" does with these, and return its code."""
    seed(suite)
    prepare(suite)
    return subprocess.run(command(suite, arguments), cwd=ROOT,
                          env=environment(suite), check=False).returncode


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
