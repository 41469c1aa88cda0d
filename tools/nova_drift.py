# SPDX-License-Identifier: Apache-2.0

"""Tell which of our targets a Nova that is not installed has changed.

Usage: nova_drift.py FOLDER

FOLDER is a source tree of Nova. Only its source is read, so that it needs
none of what it requires. The exit code is 1 if a target has drifted.

This is stricter than the check at start, which lets a target be missing that
some of the releases do not have: what the newest of them has must be there.
"""

import ast
import pathlib
import sys

from cell0_rebuild import activation
from cell0_rebuild import nova_internals
from cell0_rebuild import objects_ext
from cell0_rebuild import patching

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests import signatures  # noqa: E402

# What cell0_rebuild/nova_compat.py asks Nova for and does without in releases
# that do not have it.
ASKED_FOR = (
    patching.Target(
        'nova.monkey_patch', 'patch', "backend='eventlet'",
        'asked for: does a command choose threads?'),
    patching.Target(
        'nova.utils', 'concurrency_mode_threading', '',
        'asked for: does a service run with threads?'),
    patching.Target(
        'nova.objects.request_spec',
        'RequestSpec.generate_request_groups_from_pci_requests', 'self',
        'asked for: are devices in Placement?'),
)


def drifted(folder):
    """Return a sentence for each target that has drifted."""
    sys.path.insert(0, folder)
    found = [target.problem(signatures.read) for target in ASKED_FOR]
    for change in activation.load_all().changes:
        if isinstance(change, patching.ItemPatch):
            found.append(None if is_assigned(change.item)
                         else f'{change} does not exist')
        else:
            found += map(problem, nova_internals.REQUEST_SPEC if isinstance(
                change, objects_ext.Registration) else [change.target])
    return sorted({problem for problem in found if problem})


def problem(target):
    """Return what is wrong with a target, or None.

    The check at start lets one be missing that some releases do not have.
    """
    if (target.absent and newest() not in target.absent.split()
            and target.found(signatures.read)[1] is None):
        return f'{target} does not exist'
    return target.problem(signatures.read)


def newest():
    """Return the newest release that the package was tested with."""
    return str(int(activation.TESTED_NOVA.rpartition('<')[2]) - 1)


def is_assigned(item):
    """Tell whether a module assigns a dictionary, without importing it."""
    path = signatures.locate(item.module)
    tree = ast.parse(path.read_bytes() if path else b'')
    return item.name in {
        target.id for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets if isinstance(target, ast.Name)}


def main(folder):
    """Print what has drifted and return the exit code."""
    found = drifted(folder)
    for problem in found:
        print(f'DRIFTED  {problem}')
    print(f'{len(found)} targets have drifted', flush=True)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
