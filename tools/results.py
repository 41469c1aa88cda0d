# SPDX-License-Identifier: Apache-2.0

"""Results of long runs, kept so that one can go on where it was stopped.

What ran is kept as long as the code stays the same: with --minutes the runs
stop, and --resume goes on with those that are left. The table has all of them.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from rich import console
from rich import progress

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATE = ROOT / '.state' / 'results'
OUT = console.Console(soft_wrap=True)


def parser(description, series, cases):
    """Return a parser of the options that every long run has.

    :param description: of the command; its first line is shown.
    :param series: what --sample takes a number of runs of.
    :param cases: what --only chooses among.
    """
    made = argparse.ArgumentParser(description=description.split('\n')[0])
    made.add_argument('--write-docs', action='store_true',
                      help='write sums into the documentation, and the table '
                           'into .state/tables')
    made.add_argument('--resume', action='store_true',
                      help='keep what an earlier run has done')
    made.add_argument('--minutes', type=float, default=float('inf'),
                      help='begin no run after that')
    made.add_argument('--sample', type=int, default=0,
                      help=f'runs of each {series}; 0 means all')
    made.add_argument('--seed', type=int, default=1)
    made.add_argument('--only', default='', metavar='PATTERN',
                      help=f'{cases} whose names match')
    made.add_argument('--jobs', type=int, default=os.cpu_count())
    return made


def begin(made, name, sources):
    """Return the options of a run, with its folder and its end."""
    options = made.parse_args()
    options.until = time.time() + 60 * options.minutes
    options.folder = folder(name, sources, options.resume)
    return options


def stamp(sources):
    """Return what changes when the code in folders does."""
    found = hashlib.sha256()
    for source in sources:
        for path in sorted((ROOT / source).rglob('*.py')):
            found.update(path.read_bytes())
    return found.hexdigest()


def folder(name, sources, resume):
    """Return a folder for what is written meanwhile.

    Results of other code are dropped.

    :param name: of the command.
    :param sources: folders with the code that the results are of.
    :param resume: keep what an earlier run of the same code has written.
    """
    wanted = STATE / name / stamp(sources)[:16]
    if not (resume and wanted.exists()):
        shutil.rmtree(STATE / name, ignore_errors=True)
        wanted.mkdir(parents=True)
    return wanted


def run(test, suite, log, options, only, is_wrong):
    """Run a test; return what it says if it failed without a result.

    :param suite: what the names of its variables begin with.
    :param log: of its results.
    :param only: the pattern of what is run.
    :param is_wrong: tells whether a line of the log is a result that fails it.
    """
    prefix = f'CELL0_REBUILD_{suite}_'
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'unittest', test], cwd=ROOT,
        env={**os.environ, 'OS_TEST_TIMEOUT': '0', f'{prefix}LOG': str(log),
             f'{prefix}SAMPLE': str(options.sample),
             f'{prefix}SEED': str(options.seed),
             f'{prefix}UNTIL': str(options.until), f'{prefix}ONLY': only},
        capture_output=True, text=True, check=False)
    if not done.returncode or any(map(is_wrong, lines(log))):
        return ''
    # One that is killed says nothing.
    return done.stderr[-3000:] or (
        f'{test} {only} ended with {done.returncode}')


def run_all(what, jobs, at_once):
    """Run functions side by side; return what those say that crashed."""
    with progress.Progress(console=OUT) as bar, \
            concurrent.futures.ThreadPoolExecutor(at_once) as executor:
        running = [executor.submit(job) for job in jobs]
        return [future.result() for future in bar.track(
            concurrent.futures.as_completed(running), total=len(running),
            description=what) if future.result()]


def lines(log):
    """Return what is written in a log so far: a JSON object a line."""
    if not log.exists():
        return []
    text = log.read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines(keepends=True)
            if line.endswith('\n')]
