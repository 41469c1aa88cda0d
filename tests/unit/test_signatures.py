# SPDX-License-Identifier: Apache-2.0

"""The two readings of a signature: of the import, and of the source."""

import ast
import importlib
from importlib import machinery
import itertools
import sys
from unittest import mock

import ddt
import fixtures
import testtools
import wrapt

from cell0_rebuild import patching
from tests.unit import probe
from tests.unit import throwaway
from tests import signatures

SOURCE = '''
import functools


def keeping(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


def plain(a, b=1, *args, c, d='x', **kwargs):
    pass


def annotated(
    z: int, /, a: int, b: 'str | None' = None, *c: int, e: int = 1, **d: str
) -> bool:
    pass


def separated(a, /, b=-1.5, *, c=()):
    pass


def nothing():
    pass


@keeping
@keeping
def decorated(a, b=None):
    pass


def again(old):
    pass


def again(new):
    pass


class Owner:
    def method(self, a, b={}):
        pass

    @staticmethod
    def static(a, b=True):
        pass

    @classmethod
    def of_class(cls, a, *, b=[]):
        pass

    @staticmethod
    @keeping
    def decorated(a):
        def inner(b):
            pass

    class Inner:
        def deep(self, a):
            pass


class Heir(Owner):
    pass


VARIABLE = 1
'''

EXPECTED = {
    'plain': "a, b=1, *args, c, d='x', **kwargs",
    'annotated': 'z, /, a, b=None, *c, e=1, **d',
    'separated': 'a, /, b=-1.5, *, c=()',
    'nothing': '',
    'decorated': 'a, b=None',
    'again': 'new',
    'Owner.method': 'self, a, b={}',
    'Owner.static': 'a, b=True',
    'Owner.of_class': 'cls, a, *, b=[]',
    'Owner.decorated': 'a',
    'Owner.Inner.deep': 'self, a',
}

# Two decorators of one module, of which neither tells what it decorates.
DECORATED = '''
def hide(function):
    def wrapper(*args):
        return function(*args)
    return wrapper


def other(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


{more}
@hide
def function(a, b=1):
    pass


class Owner:
    @hide
    def method(self, a):
        pass
'''

ABSENT = ('absent', 'Absent.method', 'Owner.absent', 'Owner.Inner.absent',
          'Heir.method', 'VARIABLE', 'Owner', 'plain.inner',
          'Owner.decorated.inner')


# Of the source, and of the import.
READINGS = signatures.read, patching.signature_of


class TargetsTest(testtools.TestCase):

    def test_source_and_import_agree_on_every_target(self):
        self.assertEqual(
            {str(target): target.found() for target in probe.targets()},
            {str(target): target.found(signatures.read)
             for target in probe.targets()})

    def test_every_target_is_what_was_tested(self):
        self.assertEqual(
            {str(target): None for target in probe.targets()},
            {str(target): target.problem() for target in probe.targets()})

    def test_no_target_is_named_twice(self):
        names = [str(target) for target in probe.targets()]
        self.assertGreater(len(names), 20)
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_every_reason_tells_what_for(self):
        self.assertEqual([], [
            str(target) for target in probe.targets()
            if len(target.reason.split()) < 3
            or 'likewise' in target.reason])


@ddt.ddt
class ReadTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.modules = self.useFixture(throwaway.Modules())

    @ddt.data(*itertools.product(READINGS, EXPECTED))
    @ddt.unpack
    def test_the_signature_is_read(self, read, name):
        self.assertEqual(EXPECTED[name], read(
            self.modules.write(SOURCE), name))

    # A class can be called, so that it has a signature when it is imported.
    @ddt.data(*(
        (read, name) for read, name in itertools.product(READINGS, ABSENT)
        if (read, name) != (patching.signature_of, 'Owner')))
    @ddt.unpack
    def test_what_is_not_defined_as_a_function_is_absent(self, read, name):
        self.assertIsNone(read(self.modules.write(SOURCE), name))

    @ddt.data(*itertools.product(READINGS, (
        'no_such_module', 'no_such_package.module',
        'throwaway_package.missing')))
    @ddt.unpack
    def test_a_missing_module_is_absent(self, read, module):
        self.modules.write(SOURCE, package='throwaway_package')
        self.assertIsNone(read(module, 'plain'))

    def test_a_module_is_parsed_once_for_all_its_functions(self):
        module = self.modules.write(SOURCE)
        with mock.patch.object(
                signatures.ast, 'parse', wraps=ast.parse) as parse:
            for name in EXPECTED:
                signatures.read(module, name)
        self.assertEqual(1, parse.call_count)

    def test_a_folder_that_is_no_package_has_no_functions(self):
        (self.modules.path / 'throwaway_folder').mkdir()
        importlib.invalidate_caches()
        self.assertIsNone(signatures.read('throwaway_folder', 'plain'))

    def test_a_module_in_a_package_is_found(self):
        module = self.modules.write(SOURCE, package='throwaway_package')
        self.assertEqual('self, a', signatures.read(
            module, 'Owner.Inner.deep'))

    def test_a_package_that_is_installed_editable_is_found(self):
        module = self.modules.write(SOURCE, package='throwaway_package')
        folder = str(self.modules.path)
        self.useFixture(fixtures.MonkeyPatch('sys.path', [
            entry for entry in sys.path if entry != folder]))
        self.assertIsNone(signatures.read(module, 'plain'))

        class EditableFinder:
            """Knows where the package is, as the one of setuptools does."""

            def find_spec(name, path=None, target=None):
                if name == 'throwaway_package':
                    return machinery.PathFinder.find_spec(name, [folder])

        self.useFixture(fixtures.MonkeyPatch(
            'sys.meta_path', [*sys.meta_path, EditableFinder]))
        self.assertEqual(
            EXPECTED['plain'], signatures.read(module, 'plain'))
        self.assertNotIn('throwaway_package', sys.modules)

    def test_the_source_need_not_be_ascii(self):
        module = self.modules.write('def café(é):\n    pass\n')
        self.assertEqual('é', signatures.read(module, 'café'))

    def test_neither_a_module_nor_its_package_is_imported(self):
        module = self.modules.write(
            'raise Exception\n' + SOURCE, package='throwaway_package')
        self.assertEqual('new', signatures.read(module, 'again'))
        self.assertNotIn(module, sys.modules)
        self.assertNotIn('throwaway_package', sys.modules)


@ddt.ddt
class SignatureOfTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.modules = self.useFixture(throwaway.Modules())

    @ddt.data('', '@other')
    def test_a_decorator_of_its_module_does_not_hide_it(self, more):
        module = self.modules.write(DECORATED.format(more=more))
        self.assertEqual('a, b=1', patching.signature_of(module, 'function'))
        self.assertEqual(
            'self, a', patching.signature_of(module, 'Owner.method'))

    def test_a_decorator_of_another_module_hides_it(self):
        other = self.modules.write(DECORATED.format(more=''))
        module = self.modules.write(
            f'from {other} import hide\n@hide\ndef function(a): pass\n')
        self.assertEqual('*args', patching.signature_of(module, 'function'))

    def test_a_wrapt_wrapper_has_the_signature_of_what_it_wraps(self):
        module = self.modules.load(SOURCE)
        wrapt.wrap_function_wrapper(module, 'separated', throwaway.ours)
        self.assertEqual(EXPECTED['separated'], patching.signature_of(
            module.__name__, 'separated'))

    def test_a_module_that_lacks_another_one_is_not(self):
        module = self.modules.write('import no_such_module')
        self.assertRaises(
            ModuleNotFoundError, patching.signature_of, module, 'plain')
