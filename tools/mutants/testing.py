# SPDX-License-Identifier: Apache-2.0

"""Run tests in processes that begin with Nova in memory."""

import ast
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

import coverage
import testtools

import run_tests

ROOT = run_tests.ROOT
# What a mutant needs a copy of; the tests read the rest only.
COPIED = ('cell0_rebuild', 'tests', 'tools')


def copy(source, destination):
    """Make a tree in a new folder, to change and to run the tests of."""
    for name in os.listdir(ROOT):
        if name not in COPIED:
            (destination / name).symlink_to(ROOT / name)
    for name in COPIED:
        shutil.copytree(source / name, destination / name)


def enter(tree):
    """Have this process, and those that it starts, use a tree."""
    os.chdir(tree)
    sys.path[:] = [str(tree), *(name for name in sys.path
                                if name != str(ROOT))]
    os.environ['PYTHONPATH'] = str(tree)


def warm_up():
    """Load Nova, and have it make the schemas of its databases."""
    os.environ.update(run_tests.environment('functional'))
    sys.path[:0] = [str(ROOT)]
    from nova.tests.functional import integrated_helpers
    from tests import releases

    class Stock(integrated_helpers.ProviderUsageBaseTestCase):
        compute_driver = 'fake.MediumFakeDriver'

        def setUp(self):
            self.flags(api_paste_config=str(releases.PASTE), group='wsgi')
            super().setUp()

        def runTest(self):
            pass

    assert Stock().run().wasSuccessful()
    for name in list(sys.modules):
        if name.partition('.')[0] in ('cell0_rebuild', 'tests'):
            del sys.modules[name]


def each(tasks, jobs):
    """Run tasks, each in a process; yield (name, seconds, exit code).

    :param tasks: of (name, function, seconds that it may take); the code of a
        function that takes longer is None.
    """
    running = {}
    tasks = iter(tasks)
    while True:
        while len(running) < jobs:
            name, function, limit = next(tasks, (None, None, None))
            if function is None:
                break
            running[_fork(function)] = name, time.monotonic(), limit
        if not running:
            return
        for process, (name, began, limit) in list(running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            seconds = time.monotonic() - began
            if ended or seconds > limit:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)
                del running[process]
                if not ended:
                    os.waitpid(process, 0)
                yield name, seconds, status if ended else None
        time.sleep(0.05)


def _fork(function):
    process = os.fork()
    if process:
        return process
    os.setpgid(0, 0)
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silent, stream)
    code = 2
    try:
        code = function()
    finally:
        os._exit(code)


def run(tests, before=lambda test: None):
    """Run tests; yield (name, processor time) of what passes, else None."""
    for test in tests:
        before(test.id())
        began = time.process_time()
        result = test.run()
        yield (test.id(), time.process_time() - began) if (
            result.wasSuccessful() and not result.skipped) else None


def load(names):
    """Return the tests with names, or in modules."""
    return list(testtools.iterate_tests(
        unittest.defaultTestLoader.loadTestsFromNames(names)))


def measure(tree, module, path):
    """Write what each test of a module takes and reaches."""
    enter(tree)
    reports = coverage.Coverage(
        data_file=None, config_file=False, source=[str(tree / COPIED[0])])
    reports.start()
    reached = dict(filter(None, run(load([module]), reports.switch_context)))
    reports.stop()
    found = {name: {'seconds': seconds, 'keys': []}
             for name, seconds in reached.items()}
    data = reports.get_data()
    keys = {}
    for file in data.measured_files():
        name = str(pathlib.Path(file).relative_to(tree))
        known = keys_of(pathlib.Path(file).read_text())
        for line, tests in data.contexts_by_lineno(file).items():
            if not known[line][1]:
                continue
            key = keys.setdefault((name, *known[line]), len(keys))
            for test in set(tests) & set(found):
                found[test]['keys'].append(key)
    path.write_text(json.dumps({'keys': list(keys), 'tests': found}))
    return 0


def keys_of(code):
    """Return {line: (function, text)}, which outlives other changes."""
    lines = code.splitlines()
    found = dict.fromkeys(range(len(lines) + 1), ('', ''))

    def visit(node, function):
        for child in ast.iter_child_nodes(node):
            inner = function
            if isinstance(child, (ast.stmt, ast.ExceptHandler)):
                for line in range(child.lineno, child.end_lineno + 1):
                    found[line] = function, lines[child.lineno - 1].strip()
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f'{function}.{child.name}'
            if isinstance(child, ast.FunctionDef):
                # They run when the module is imported, and matter to whoever
                # calls the function.
                first = min([child.lineno, *(
                    name.lineno for name in child.decorator_list)])
                for line in range(first, child.body[0].lineno):
                    found[line] = inner, ''
            visit(child, inner)
    visit(ast.parse(code), '')
    return found


def passes(tree, test):
    """Return 0 if a test passes, which is to kill nothing by itself."""
    enter(tree)
    [passed] = run(load([test]))
    return 0 if passed else 1


def kill(source, tree, mutant, tests):
    """Run tests on a mutant until one fails; return whether one did."""
    copy(source, tree)
    (tree / mutant['path']).write_text(mutant['code'])
    enter(tree)
    for test, passed in zip(tests, run(load(tests))):
        if not passed:
            (tree / 'killer').write_text(test)
            return 1
    return 0
