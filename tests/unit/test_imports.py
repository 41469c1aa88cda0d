# SPDX-License-Identifier: Apache-2.0

"""What the processes of Nova never import."""

import ast
import importlib.util
import pathlib

import testtools

import cell0_rebuild

ROOT = pathlib.Path(cell0_rebuild.__file__).parent

# Where nova-api and nova-conductor come in, and the functions that they then
# call, which extensions name by strings.
ENTRANCES = [
    *(f'cell0_rebuild.{name}' for name in (
        'activation', 'objects_ext', 'api_ext', 'conductor_ext')),
    *(f'cell0_rebuild.{folder}.{path.stem}'
      for folder in ('api', 'conductor')
      for path in sorted(ROOT.joinpath(folder).glob('[!_]*.py')))]

# What a burial needs to know who asked to wait.
WISHES = {'cell0_rebuild.wait', *(f'cell0_rebuild.wait.{name}' for name in (
    'durations', 'option_types', 'wish_options', 'wishes'))}


def imported(module):
    """Return the modules of the package that one imports, at any time."""
    path = pathlib.Path(importlib.util.find_spec(module).origin)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found.update(
                f'{node.module}.{alias.name}' for alias in node.names)
    return {name for name in found if is_module(name)}


def is_module(name):
    """Return whether it is a module of the package."""
    parts = name.split('.')
    path = ROOT.parent.joinpath(*parts)
    return parts[0] == 'cell0_rebuild' and (
        path.is_dir() or path.with_suffix('.py').exists())


def reached(entrances):
    """Return the modules of the package that some import, and so on."""
    found, left = set(), set(entrances)
    while left:
        module = left.pop()
        found.add(module)
        left |= imported(module) - found
    return found


class ImportsTest(testtools.TestCase):

    def test_nova_imports_of_what_waits_only_the_wishes(self):
        modules = reached(ENTRANCES)
        self.assertIn('cell0_rebuild.move.attempt', modules)
        self.assertEqual(WISHES, {
            name for name in modules
            if name.startswith('cell0_rebuild.wait')})

    def test_an_import_in_a_function_is_seen(self):
        self.assertIn('cell0_rebuild.wait.why',
                      reached(['cell0_rebuild.cmd.why']))
