# SPDX-License-Identifier: Apache-2.0

"""What the modules of the package import, and what Nova never does."""

import ast
import graphlib
import importlib.util
import pathlib
import re

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
    return named(ast.walk(ast.parse(source(module))))


def source(module):
    """Return the text of a module of the package."""
    return pathlib.Path(
        importlib.util.find_spec(module).origin).read_text()


def named(nodes):
    """Return the modules of the package that statements import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found.update(
                f'{node.module}.{alias.name}' for alias in node.names)
    return {name for name in found if is_module(name)}


def executed(tree):
    """Generate the nodes of a module that are not for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(
                node.test):
            continue
        yield node
        yield from executed(node)


def circle(texts):
    """Return modules of which each imports the next; none without a circle.

    :param texts: the source of each module, by its name.
    """
    try:
        graphlib.TopologicalSorter({
            name: named(executed(ast.parse(text)))
            for name, text in texts.items()}).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


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


class CircleTest(testtools.TestCase):

    def test_no_module_imports_itself_through_others(self):
        # An import in a function hides a circle, and does not mend it.
        texts = {
            '.'.join(path.relative_to(ROOT.parent).with_suffix('').parts
                     ).removesuffix('.__init__'): path.read_text()
            for path in ROOT.rglob('*.py')}
        self.assertIn('cell0_rebuild.move.attempt', texts)
        self.assertEqual([], circle(texts))

    def test_what_writes_the_rows_of_a_move_knows_no_step_of_it(self):
        # Not even for type checkers.
        for name in ('api_db', 'cell0_db', 'cell_db', 'journal',
                     'late_changes', 'location', 'lock', 'mapped_db'):
            self.assertNotIn('cell0_rebuild.move.attempt', reached(
                [f'cell0_rebuild.move.{name}']), name)

    def test_a_circle_is_seen_in_any_form(self):
        for text in ('from cell0_rebuild import conf',
                     'import cell0_rebuild.conf',
                     'def late():\n    from cell0_rebuild import conf'):
            self.assertEqual(3, len(circle({
                'cell0_rebuild.conf': 'from cell0_rebuild import rpcapi',
                'cell0_rebuild.rpcapi': text})), text)

    def test_an_import_for_type_checkers_makes_no_circle(self):
        self.assertEqual([], circle({
            'cell0_rebuild.conf': 'from cell0_rebuild import rpcapi',
            'cell0_rebuild.rpcapi': 'if typing.TYPE_CHECKING:\n'
                                    '    from cell0_rebuild import conf'}))


class ImportsTest(testtools.TestCase):

    def test_nova_imports_of_what_waits_only_the_wishes(self):
        modules = reached(ENTRANCES)
        self.assertIn('cell0_rebuild.move.attempt', modules)
        self.assertEqual(WISHES, {
            name for name in modules
            if name.startswith('cell0_rebuild.wait')})

    def test_what_decides_and_what_remembers_knows_nothing_of_nova(self):
        modules = reached(
            f'cell0_rebuild.wait.{room}.{path.stem}'
            for room in ('decision', 'memory')
            for path in ROOT.joinpath('wait', room).glob('[!_]*.py'))
        self.assertIn('cell0_rebuild.wait.values', modules)
        self.assertEqual([], [
            module for module in modules
            if re.search(r'(?m)^ *(from|import) nova\b', source(module))])

    def test_an_import_in_a_function_is_seen(self):
        self.assertIn('cell0_rebuild.wait.demand.why',
                      reached(['cell0_rebuild.cmd.why']))
