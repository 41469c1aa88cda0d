# SPDX-License-Identifier: Apache-2.0

"""The folders of tests of which "make test" runs a part, as one suite.

Then no worker waits at the end of each, and each loads Nova once.
"""

# Before anything else is imported: see there.
import tests.functional  # noqa: F401

FOLDERS = ('unit', 'functional', 'faults', 'races')


def load_tests(loader, found, pattern):
    """Load the tests of all."""
    for folder in FOLDERS:
        found.addTests(loader.discover(
            f'tests/{folder}', top_level_dir='.'))
    return found
