# SPDX-License-Identifier: Apache-2.0

"""The tests that tables of the documentation name."""

import importlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]


def find(case):
    """Return the class and the name of a test.

    :param case: ``module.Class.name``, anywhere in ``tests/functional``.
    """
    module, cls, name = case.split('.')
    [path] = (ROOT / 'tests/functional').rglob(f'{module}.py')
    found = getattr(importlib.import_module(
        '.'.join(path.relative_to(ROOT).with_suffix('').parts)), cls)
    getattr(found, name)
    return found, name
