# SPDX-License-Identifier: Apache-2.0

"""doc/source/contributor/specification.rst names what there is."""

import ast
import pathlib
import re

import ddt
import testtools

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / 'doc/source/contributor/specification.rst'
TESTS = ('tests', 'cell0_rebuild_tempest_plugin')

# A module, and what is in it; tests are named without their class.
_REFERENCE = re.compile(r'``([a-z]\w*(?:\.\w+)+)``')


def references(text):
    """Return the names with dots that a text has."""
    return sorted(set(_REFERENCE.findall(text)))


def rows(text):
    """Return the third cells of the tables that have code and tests."""
    return [cells[2] for table in text.split('- Code and tests\n')[1:]
            for cells in _cells(re.split(r'\n\n(?! )', table)[0])]


def _cells(table):
    return [re.split(r'\n     - ', row)
            for row in re.split(r'(?:^|\n)   \* - ', table)[1:]]


def exists(reference):
    """Tell whether there is what a reference names."""
    if reference.startswith('test_'):
        module, *names = reference.split('.')
        return any(
            _has(path, names, anywhere=True)
            for folder in TESTS for path in (ROOT / folder).rglob('*.py')
            if path.stem == module)
    parts = reference.split('.')
    for length in range(1, len(parts)):
        path = ROOT.joinpath(
            'cell0_rebuild', *parts[:length]).with_suffix('.py')
        if path.exists():
            return _has(path, parts[length:])
    return False


def _has(path, names, anywhere=False):
    node = ast.parse(path.read_text())
    for name in names:
        found = [inner for inner in (
            ast.walk(node) if anywhere else node.body)
            if name in _defined(inner)]
        if not found:
            return False
        node = found[0]
    return True


def _defined(node):
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [getattr(target, 'id', None) for target in node.targets]
    return []


@ddt.ddt
class SpecificationTest(testtools.TestCase):

    @ddt.idata(references(PAGE.read_text()))
    def test_what_is_named_exists(self, reference):
        self.assertTrue(exists(reference), reference)

    @ddt.idata(rows(PAGE.read_text()))
    def test_each_sentence_has_a_test(self, cell):
        self.assertRegex(cell, r'``test_\w+\.\w+``')

    def test_both_specifications_are_there_sentence_by_sentence(self):
        text = PAGE.read_text()
        self.assertEqual(text.count('\n     - ``'), len(rows(text)))
        self.assertGreater(len(rows(text)), 40)

    def test_what_does_not_exist_is_missed(self):
        for reference in (
                'test_specification.test_what_never_was', 'api.nowhere.check',
                'test_nowhere.test_what_is_named_exists', 'api.errors.nothing',
                'rpcapi.RebuildAPI.nothing'):
            self.assertFalse(exists(reference), reference)

    def test_what_exists_is_found(self):
        for reference in (
                'test_specification.test_what_is_named_exists',
                'api.errors.conflict', 'rpcapi.RebuildAPI.ping',
                'rpcapi.VERSION', 'retained.Retained'):
            self.assertTrue(exists(reference), reference)
