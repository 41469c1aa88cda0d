# SPDX-License-Identifier: Apache-2.0

"""Nova's own functional tests, with the package enabled or as they are.

They are run by tools/compare.py. ``CELL0_REBUILD_NOVA_TESTS`` says how:
``enabled`` or ``stock``; that is so for the other modules of this folder, too.
"""

import os
import pathlib

import nova.tests.functional
import testscenarios

from tests.unit import run_nova_tests

FOLDER = pathlib.Path(nova.tests.functional.__file__).parent

# They compare the versions document with Nova's highest microversion, and by
# default it has one more.
VERSIONS = 'nova.tests.functional.api_sample_tests.test_versions.'


def options(case):
    """Return the options of the package for a test: few need some."""
    if case.id().startswith(VERSIONS):
        return {'api_microversion': '2.93'}
    return {}


def load_tests(loader, tests, pattern):
    """Load the tests of Nova, of which each prepares itself."""
    run_nova_tests.prepare(
        os.environ['CELL0_REBUILD_NOVA_TESTS'] == 'enabled', options)
    # The loader would look for the rest of this folder there, too.
    found = type(loader)().discover(
        str(FOLDER), top_level_dir=str(FOLDER.parents[2]))
    # Otherwise they get the names that they are run by only when they are run.
    return loader.suiteClass(testscenarios.generate_scenarios(found))
