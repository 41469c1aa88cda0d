# SPDX-License-Identifier: Apache-2.0

"""Run suites of tests with stestr, and tell how many tests ended how.

Usage: run_tests.py SUITE [SUITE ...] [OPTION ...] [PATTERN ...]

A suite is a folder of tests/, or a part of one that tests/suites.yaml names.
PATTERN selects tests by regular expression. Options are those of "stestr run".
"""

from concurrent import futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from stestr.commands import run as command_run
from stestr.repository import file
import subunit
import testtools
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import signatures  # noqa: E402

# Where stestr keeps the results, from ROOT. "stestr last" looks into ROOT.
STATE = os.environ.get('CELL0_REBUILD_STATE', '.')
# Whether it is measured what the tests reach.
COVER = 'CELL0_REBUILD_COVER' in os.environ

_SUITES = yaml.safe_load((ROOT / 'tests/suites.yaml').read_text())
PARTS, FURTHER, LONG, SERIAL, BESIDE = (_SUITES[name] for name in (
    'parts', 'further', 'long', 'serial', 'beside'))
_MODULES = '|'.join(map(re.escape, itertools.chain(*LONG.values())))
_SHORT = rf'^(?!tests\.(?:{_MODULES})\.)'


def results_of(suite):
    """Return the folder with the results of a suite, from ROOT.

    stestr does not expect two runs at a time to write to one.
    """
    return f'.state/{suite}' if suite in BESIDE else STATE


def repository(suite):
    """Return what stestr keeps the results of a suite in."""
    folder = ROOT / results_of(suite)
    if (folder / '.stestr').exists():
        return file.RepositoryFactory().open(str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    return file.RepositoryFactory().initialise(str(folder))


def folder_of(suite):
    """Return the folder of the tests of a suite, from ROOT."""
    return f'tests/{PARTS[suite]["folder"] if suite in PARTS else suite}'


def stestr(command, suite, *arguments):
    """Return the command line of stestr for a suite."""
    return [str(pathlib.Path(sys.executable).parent / 'stestr'),
            '--test-path', f'./{folder_of(suite)}', '--top-dir', '.',
            '--repo-url', results_of(suite), command, *arguments]


def chosen(suite):
    """Return the pattern of a suite that is a part of a folder.

    It may be on several lines.
    """
    return ''.join(PARTS[suite]['tests'].split()).replace(
        'SHORT', _SHORT).replace(
            'FURTHER', FURTHER) if suite in PARTS else ''


def environment(suite):
    """Return the environment of the tests: the concurrency of this Nova.

    34 runs its services with threads, older ones under eventlet.
    """
    threads = signatures.read(
        'nova.monkey_patch', '_get_concurrency_from_config') is not None
    return {**os.environ, 'PYTHONFAULTHANDLER': '1',
            # What stestr starts its workers with: not that of others.
            'PYTHON': f'{sys.executable}{" -m coverage run" if COVER else ""}',
            'OS_NOVA_DISABLE_EVENTLET_PATCHING': '1' if threads else '0',
            'OS_TEST_TIMEOUT': os.environ.get('OS_TEST_TIMEOUT', '180'),
            **PARTS.get(suite, {}).get('environment', {})}


def command(suite, arguments, filters):
    """Return the command line that runs a suite, or a part of it."""
    if arguments == filters:
        arguments = ['--abbreviate', '--slowest', *arguments]
    if suite in SERIAL or (suite == 'unit' and filters):
        workers = ['--serial']
    else:
        # A functional test waits for half of its time, so two workers more
        # than there are processors have them all busy.
        workers = ['--concurrency', str((os.cpu_count() or 1) + 2)]
    if suite == 'unit' and filters and not COVER:
        module = [str(path.relative_to(ROOT)) for path in
                  (ROOT / folder_of(suite)).rglob(f'{filters[-1]}.py')]
        if len(module) == 1:
            # Nothing else has to be loaded for it.
            return stestr(
                'run', suite, *arguments[:-1], '--no-discover', *module)
    # An option that is given again later is the one that counts.
    return stestr('run', suite, *workers, *arguments,
                  *([] if filters else filter(None, [chosen(suite)])))


def run(suite, arguments, out=None):
    """Run a suite.

    :param out: a file for what stestr says; None is that of this process.
    :returns: how many tests have passed and failed, and what says it: a line,
        and one for each that has failed.
    """
    began, before = time.monotonic(), repository(suite).count()
    filters = command_run.Run(None, None).get_parser(
        'stestr run').parse_args(arguments).filters
    code = subprocess.run(
        command(suite, arguments, filters), cwd=ROOT, env=environment(suite),
        stdout=out, stderr=out, check=False).returncode
    ran = repository(suite).count() > before
    passed, failures, skipped = counted(suite) if ran else (0, [], 0)
    failed = len(failures)
    # A pattern may match no test of this suite, and some of another.
    if code and not failed and (ran or not filters or code != 1):
        failed = 1
    return passed, failed, '\n    '.join([
        f'{suite:<16} {passed} passed, {failed} failed, {skipped} skipped '
        f'in {time.monotonic() - began:.0f} s', *failures])


def counted(suite):
    """Return how many tests of the last run passed, failed, were skipped.

    Of those that failed: which, and with what.
    """
    summary = testtools.StreamSummary()
    summary.startTestRun()
    subunit.ByteStreamToStreamResult(
        repository(suite).get_latest_run().get_subunit_stream(),
        non_subunit_name='stdout').run(summary)
    summary.stopTestRun()
    failed = [
        *(f'{test.id()}: {_raised(text)}' for test, text in summary.errors),
        *(f'{test.id()}: success' for test in summary.unexpectedSuccesses)]
    skipped = len(summary.skipped)
    return summary.testsRun - len(failed) - skipped, failed, skipped


def _raised(text):
    """Return the error of a test: what follows the last frame in its text.

    What was logged, errors and all, comes before the traceback.
    """
    frame = text.rpartition('\n  File ')[2].splitlines()[1:]
    return next((line for line in frame if line[:1].strip()), 'see above')


def main(arguments):
    """Run the suites, those of BESIDE meanwhile, and return the exit code.

    An argument may be several words, as those of make and tox are.
    """
    arguments = ' '.join(arguments).split()
    suites = list(itertools.takewhile(
        lambda name: name in PARTS or (ROOT / folder_of(name)).is_dir(),
        arguments))
    rest = arguments[len(suites):]
    with futures.ThreadPoolExecutor() as pool, \
            tempfile.TemporaryFile('w+') as shown:
        beside = [pool.submit(run, suite, rest, shown)
                  for suite in suites if suite in BESIDE]
        rows = [run(suite, rest) for suite in suites if suite not in BESIDE]
        rows += [future.result() for future in beside]
        shown.seek(0)
        print(shown.read(), *(line for *_, line in rows), sep='\n', flush=True)
    return int(any(failed for _, failed, _ in rows)
               or not any(passed for passed, *_ in rows))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
