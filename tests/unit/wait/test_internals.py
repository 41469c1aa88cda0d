# SPDX-License-Identifier: Apache-2.0

"""What the waiting service calls of Nova is in the list of internals.

It is found by reading the modules: what they import of Nova, and what they
name of that. What a call returns is followed only if it makes an object.
"""

import ast
import importlib
import inspect
import pathlib

from nova import objects
import testtools

from cell0_rebuild import activation
from cell0_rebuild import cmd
from cell0_rebuild import nova_internals
from cell0_rebuild import patching
from cell0_rebuild import wait

WAIT = sorted(pathlib.Path(wait.__file__).parent.rglob('[!_]*.py'))
COMMANDS = [path for path in sorted(
    pathlib.Path(cmd.__file__).parent.glob('[!_]*.py'))
    # It tells before an upgrade what Nova lacks, and must run without it.
    if path.stem != 'status']
MODULES = [*WAIT, *COMMANDS]
# They have no code of their own: these are the values of an object.
_VALUES = ('nova.objects.', 'nova.db.', 'nova.exception')


def used(text):
    """Return the functions of Nova that a module names."""
    tree = ast.parse(text)
    modules = {
        alias.asname or alias.name: f'{node.module}.{alias.name}'
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        and node.module.partition('.')[0] == 'nova' for alias in node.names}
    found = set()
    for node in ast.walk(tree):
        function = _resolved(node, modules)
        if isinstance(node, ast.Call) and inspect.isclass(
                function) and not function.__module__.startswith(_VALUES):
            function = vars(function).get('__init__')
        if inspect.isroutine(function) and (
                function.__module__.partition('.')[0] == 'nova'):
            found.add(f'{function.__module__}:{function.__qualname__}')
    return found


def _resolved(node, modules):
    """Return what an expression is, or None."""
    if isinstance(node, ast.Name) and node.id in modules:
        return importlib.import_module(modules[node.id])
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, modules)
        return None if owner is None else getattr(owner, node.attr, None)
    if isinstance(node, ast.Call):
        made = _resolved(node.func, modules)
        return made if inspect.isclass(made) else None
    return None


def listed():
    """Return the names of all targets."""
    return {
        str(target) for value in vars(nova_internals).values()
        for target in (value if isinstance(value, tuple) else (value,))
        if isinstance(target, patching.Target)}


class InternalsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()

    def test_each_that_is_used_is_listed(self):
        for path in MODULES:
            self.assertEqual(set(), used(path.read_text()) - listed(), path)

    def test_each_that_is_listed_for_it_is_used(self):
        found = set().union(*(used(path.read_text()) for path in MODULES))
        self.assertEqual(
            set(), set(map(str, (
                *nova_internals.WAITING, *nova_internals.COMMANDS))) - found)

    def test_each_that_is_listed_is_looked_at_by_the_upgrade_check(self):
        looked_at = {str(change.target)
                     for change in activation.load_all().changes
                     if isinstance(change, patching.Reliance)}
        self.assertEqual(
            set(map(str, nova_internals.REQUEST_SPEC)),
            listed() - looked_at)

    def test_a_function_is_seen_however_it_is_named(self):
        for text, function in (
                ('from nova import objects\n'
                 'objects.InstanceFault(None).create()',
                 'nova.objects.instance_fault:InstanceFault.create'),
                ('from nova import quota\n'
                 'found = quota.QUOTAS.get_project_quotas',
                 'nova.quota:QuotaEngine.get_project_quotas'),
                ('from nova.compute import api as compute\n'
                 'def make():\n    return compute.API()',
                 'nova.compute.api:API.__init__')):
            self.assertEqual({function}, used(text))
