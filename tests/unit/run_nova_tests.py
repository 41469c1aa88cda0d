# SPDX-License-Identifier: Apache-2.0

"""Run tests of Nova with our RequestSpec in the place of Nova's, or with all.

Usage: run_nova_tests.py REPORT stock|ours|enabled NAME [NAME ...]

A name is that of a module, class or test; that of a test may end with an
asterisk. REPORT is the file to which the
outcome of each test is written, as JSON. With "ours", the objects extension
is applied, and the test modules themselves see our class under the name
``request_spec.RequestSpec``, where they look for Nova's: the extension leaves
Nova's module alone. With "enabled", each test runs with the package enabled,
as by anybody who uses our fixture.
"""

import json
import sys
import types
import unittest

import nova.tests.unit  # noqa: F401
from nova.objects import request_spec
from nova import test

from cell0_rebuild import activation
from cell0_rebuild import fixture
from tests import releases


class Outcomes(unittest.TestResult):
    """Collects the outcome of each test."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def addSuccess(self, test):
        self.found[test.id()] = 'passed'

    def addSkip(self, test, reason):
        self.found[test.id()] = f'skipped: {reason}'

    def addFailure(self, test, error):
        self.found[test.id()] = self._exc_info_to_string(error, test)

    addError = addFailure


def stand_in():
    """Return what request_spec would be if it had our class."""
    from cell0_rebuild import objects as ours
    module = types.ModuleType(request_spec.__name__)
    vars(module).update(vars(request_spec), RequestSpec=ours.RequestSpec)
    return module


def load(name):
    """Load what a name stands for."""
    loader = unittest.TestLoader()
    if name.endswith('*'):
        loader.testNamePatterns = [name]
        name = name.rpartition('.')[0]
    return loader.loadTestsFromName(name)


def prepare(enabled, options=lambda case: {}):
    """Have every test of Nova begin with what it needs here.

    :param enabled: whether the package is.
    :param options: returns the options of the package for a test.
    """
    set_up = test.TestCase.setUp
    run = test.TestCase.run

    def prepared(case):
        case.flags(api_paste_config=str(releases.PASTE), group='wsgi')
        set_up(case)

    def with_us(case, result=None):
        # Some tests replace functions of Nova before Nova's setUp, and we
        # refuse to be enabled where they are not as they were tested.
        with fixture.Cell0RebuildFixture(**options(case)):
            return run(case, result)

    test.TestCase.setUp = prepared
    if enabled:
        test.TestCase.run = with_us


def main(report, mode, *names):
    """Run the tests and write what came of them."""
    prepare(mode == 'enabled')
    tests = unittest.TestSuite(load(name) for name in names)
    if mode == 'ours':
        activation.load(('objects',)).install()
        replacement = stand_in()
        for name, module in sys.modules.items():
            if name.startswith('nova.tests.') and hasattr(
                    module, 'request_spec'):
                vars(module)['request_spec'] = replacement
    outcomes = Outcomes()
    tests.run(outcomes)
    with open(report, 'w') as file:
        json.dump(outcomes.found, file)


if __name__ == '__main__':
    main(*sys.argv[1:])
