# SPDX-License-Identifier: Apache-2.0

"""Change the code in many small ways, and see whether the tests notice.

Each mutant is run against the tests that reach the line that it changes, the
fastest of each module first, until one fails. Which tests reach which lines is
measured before, for each module of tests that has changed. A mutant that was
killed is not run again until its module changes. A test that fails without it,
too, kills none. What is in explained.yaml survives for a reason.
"""

import argparse
import collections
import difflib
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

import tables  # noqa: E402
import testing  # noqa: E402

ROOT, OUT = testing.ROOT, testing.run_tests.OUT
STATE = ROOT / '.state/mutants'
# From so many seconds on, not all tests that reach a mutant are run.
SLOW = 1
# What kills a mutant before a test fails.
WITHOUT_A_TEST = TIME, IMPORT = 'the time', 'an import'
SOURCES = ('patching*.py', 'objects*.py', 'retained.py',
           'stored.py', 'move/**/*.py', 'conductor/builder*.py',
           'api/rebuild*.py', 'api/delete*.py')


def modules(source, pattern):
    """Return the files with tests that are fast enough for each mutant."""
    return [path for suite in ('unit', 'functional')
            for path in (source / 'tests' / suite).rglob('test_*.py')
            if re.search(pattern, str(path.relative_to(source)))]


def measured(source, options, until):
    """Return {(file, function, text): {test: seconds}}."""
    STATE.mkdir(parents=True, exist_ok=True)
    tasks, paths = [], []
    for path in modules(source, options.modules):
        name = '.'.join(path.relative_to(source).with_suffix('').parts)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        paths.append(STATE / f'{name}-{digest}.json')
        if not paths[-1].exists():
            tasks.append((name, functools.partial(
                testing.measure, source, name, paths[-1]), 3600))
    for name, seconds, code in testing.each(
            (task for task in sorted(tasks, reverse=True)
             if time.monotonic() < until), options.jobs):
        OUT.print(f'measured {name} in {seconds:.0f} s'
                  f'{"" if code == 0 else ", not all"}')
    reach = collections.defaultdict(dict)
    for path in paths:
        found = json.loads(path.read_text()) if path.exists() else {
            'tests': {}}
        for test, what in found['tests'].items():
            for key in what['keys']:
                reach[tuple(found['keys'][key])][test] = what['seconds']
    return reach


def reaching(source, mutant, reach):
    """Return {test: seconds} of the tests that reach a mutant."""
    function, text = testing.keys_of((source / mutant['path']).read_text())[
        mutant['line']]
    found = reach.get((mutant['path'], function, text))
    if found is None or not function:
        # What is new, or runs when its module is imported.
        found = {test: seconds for key, tests in reach.items()
                 if key[0] == mutant['path'] and key[1].startswith(function)
                 for test, seconds in tests.items()}
    return found


def choice(found, most):
    """Return tests, the fastest of each module first, and few slow ones."""
    modules = collections.Counter()
    ranked = []
    for test in sorted(found, key=found.get):
        module = test.rpartition('.')[0].rpartition('.')[0]
        ranked.append((found[test] >= SLOW, modules[module], found[test],
                       test))
        modules[module] += 1
    ranked.sort()
    return [test for number, (is_slow, *_, test) in enumerate(ranked)
            if not is_slow or number < most]


def change(source, mutant):
    """Return what it makes of which lines."""
    lines = [line for line in difflib.ndiff(
        (source / mutant['path']).read_text().splitlines(),
        mutant['code'].splitlines()) if line[0] in '+-']
    return [' '.join(line[2:].strip() for line in lines if line[0] == sign)
            for sign in '-+']


def tried(source, mutants, reach, options, until):
    """Yield (mutant, outcome, the killer) of each."""
    results = STATE / 'killed.json'
    killed = {} if options.again or not results.exists() else json.loads(
        results.read_text())
    is_sound = functools.cache(functools.partial(_passes, source))
    tasks = []
    for number, mutant in enumerate(mutants):
        mutant['digest'] = hashlib.sha256(
            (mutant['path'] + mutant['code']).encode()).hexdigest()
        found = reaching(source, mutant, reach)
        tests = choice(found, options.tests)
        if mutant['digest'] in killed:
            yield mutant, 'killed', killed[mutant['digest']]
        elif not tests:
            yield mutant, 'survived', 'no test reaches it'
        else:
            tree = source.with_name(str(number))
            tree.mkdir()
            tasks.append((
                (mutant, tree, f'{len(tests)} of {len(found)} tests'),
                functools.partial(testing.kill, source, tree, mutant, tests),
                60 + 3 * sum(found[test] for test in tests)))
    for (mutant, tree, tests), _, code in testing.each(
            ((name, function, limit * max(1, os.getloadavg()[0]))
             for name, function, limit in tasks if time.monotonic() < until),
            options.jobs):
        by = _killer(tree, code)
        shutil.rmtree(tree)
        if by is None:
            yield mutant, 'survived', tests
        elif by not in WITHOUT_A_TEST and not is_sound(by):
            yield mutant, 'survived', f'{by} fails without it, too'
        else:
            killed[mutant['digest']] = by
            yield mutant, 'killed', by
            results.write_text(json.dumps(killed))


def _killer(tree, code):
    """Return what has killed a mutant, None if nothing."""
    if code == 0:
        return None
    killer = tree / 'killer'
    return TIME if code is None else (
        killer.read_text() if killer.exists() else IMPORT)


def _passes(source, test):
    [(_, _, code)] = testing.each(
        [(test, functools.partial(testing.passes, source, test), 600)], 1)
    return code == 0


def mutated(source, patterns=SOURCES):
    """Return the paths of the modules that are changed."""
    return [str(path.relative_to(source)) for pattern in patterns
            for path in (source / 'cell0_rebuild').glob(pattern)]


def sample(source, options):
    """Return mutants that cosmic-ray makes, which no test needs."""
    paths = mutated(source)
    made = tables.run_apart(
        'cosmic-ray', 'tools/mutants/making.py', options.seed,
        options.sample, *paths, cwd=source, stdout=subprocess.PIPE).stdout
    return [mutant for mutant in map(json.loads, made.splitlines())
            if re.search(options.only, '{path}:{line} {change}'.format(
                **mutant))]


def report(source, mutants, results):
    """Print how each ended; return the exit code."""
    explained = {(entry['file'], entry['in'], entry['was'], entry['becomes'])
                 for entry in yaml.safe_load(
                     (source / 'tools/mutants/explained.yaml').read_text())}
    counts, ways = collections.Counter(), collections.Counter()
    for mutant, outcome, by in results:
        was, becomes = change(source, mutant)
        function, _ = testing.keys_of(
            (source / mutant['path']).read_text())[mutant['line']]
        if outcome == 'survived' and (
                mutant['path'], function[1:], was, becomes) in explained:
            outcome = 'explained'
        counts[outcome] += 1
        ways[by] += outcome == 'killed'
        OUT.print(f'{outcome:<9} {mutant["path"]}:{mutant["line"]} '
                  f'{mutant["change"]}: {by}', markup=False)
        if outcome == 'survived':
            OUT.print(f'  - {was}\n  + {becomes}', markup=False)
    print(f'{sum(counts.values())} of {len(mutants)} mutants: '
          f'{counts["killed"]} killed ({ways[TIME]} by the time, '
          f'{ways[IMPORT]} by an import), {counts["explained"]} explained, '
          f'{counts["survived"]} survived', flush=True)
    return 1 if counts['survived'] or not counts else 0


def main():
    """Run a sample and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--sample', type=int, default=20)
    parser.add_argument('--tests', type=int, default=10,
                        help='run so many on a mutant, and all quick ones')
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--minutes', type=float, default=float('inf'),
                        help='begin nothing after that')
    parser.add_argument('--only', default='', metavar='PATTERN',
                        help='of "FILE:LINE CHANGE"')
    parser.add_argument('--modules', default='', metavar='PATTERN',
                        help='use only tests in files whose paths match')
    parser.add_argument('--again', action='store_true',
                        help='run what was killed, too')
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / 'source'
        source.mkdir()
        testing.copy(ROOT, source)
        mutants = sample(source, options)
        testing.warm_up()
        reach = measured(source, options, until)
        return report(source, mutants, tried(
            source, mutants, reach, options, until))


if __name__ == '__main__':
    sys.exit(main())
