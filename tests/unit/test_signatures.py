# SPDX-License-Identifier: Apache-2.0

"""The two readings of a signature."""

import ast
import functools
import importlib
from importlib import machinery
import subprocess
import sys
from unittest import mock

import ddt
import fixtures
import testtools
import wrapt

from cell0_rebuild import patching
from cell0_rebuild import signatures
from tests.unit import probe
from tests.unit import throwaway

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

ABSENT = ('absent', 'Absent.method', 'Owner.absent', 'Owner.Inner.absent',
          'Heir.method', 'VARIABLE', 'Owner', 'plain.inner',
          'Owner.decorated.inner')


def live(target):
    """Return the signature of the imported function of a target."""
    owner = importlib.import_module(target.module)
    *owners, attribute = target.found()[0].split('.')
    for name in owners:
        owner = getattr(owner, name)
    function = vars(owner)[attribute]
    return signatures.render(getattr(function, '__func__', function))


class TargetsTest(testtools.TestCase):

    def test_source_and_import_agree_on_every_target(self):
        # Decorators of this module do not say what they wrap.
        targets = [target for target in probe.targets()
                   if target.module != 'nova.volume.cinder'
                   and target.found()[1] is not None]
        self.assertEqual(
            {str(target): live(target) for target in targets},
            {str(target): signatures.read(
                target.module, target.found()[0])
             for target in targets})

    def test_every_target_is_what_was_tested(self):
        for target in probe.targets():
            importlib.import_module(target.module)
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

    @ddt.data(*EXPECTED)
    def test_the_signature_is_read_from_the_source(self, name):
        module = self.modules.write(SOURCE)
        self.assertEqual(EXPECTED[name], signatures.read(module, name))

    @ddt.data(*EXPECTED)
    def test_the_signature_is_read_from_the_import(self, name):
        target = patching.Target(
            self.modules.load(SOURCE).__name__, name, '', '')
        self.assertEqual(EXPECTED[name], live(target))

    @ddt.data(*ABSENT)
    def test_what_the_source_does_not_define_as_a_function_is_absent(
        self, name
    ):
        module = self.modules.write(SOURCE)
        self.assertIsNone(signatures.read(module, name))

    def test_a_module_is_parsed_once_for_all_its_functions(self):
        module = self.modules.write(SOURCE)
        self.addCleanup(signatures.forget)
        with mock.patch.object(
                signatures.ast, 'parse', wraps=ast.parse) as parse:
            for name in EXPECTED:
                signatures.read(module, name)
        self.assertEqual(1, parse.call_count)

    def test_a_missing_module_is_absent(self):
        self.assertIsNone(signatures.read('no_such_module', 'plain'))

    def test_a_module_of_a_missing_package_is_absent(self):
        self.assertIsNone(signatures.read('no_such_package.module', 'plain'))

    def test_a_missing_module_of_a_package_is_absent(self):
        self.modules.write(SOURCE, package='throwaway_package')
        self.assertIsNone(
            signatures.read('throwaway_package.missing', 'plain'))

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

    def test_nothing_of_nova_is_imported(self):
        found = subprocess.run(
            [sys.executable, '-c', """
import sys
from cell0_rebuild import nova_internals
assert nova_internals.REBUILD.problem() is None
assert nova_internals.BURY_IN_CELL0.problem() is None
print(sorted(name for name in sys.modules if name.startswith('nova')))
"""], check=True, capture_output=True, text=True)
        self.assertEqual('[]\n', found.stdout)


class RenderTest(testtools.TestCase):

    def test_a_wrapt_wrapper_has_the_signature_of_what_it_wraps(self):
        def function(a, *, b=1):
            pass

        wrapper = wrapt.FunctionWrapper(function, throwaway.ours)
        self.assertEqual('a, *, b=1', signatures.render(wrapper))

    def test_a_wrapper_that_hides_what_it_wraps_is_seen(self):
        def function(a):
            pass

        @functools.wraps(function)
        def wrapper(*args):
            function(*args)

        del wrapper.__wrapped__
        self.assertEqual('*args', signatures.render(wrapper))
