# SPDX-License-Identifier: Apache-2.0

"""Modules and extensions that exist for one test."""

import importlib
from importlib import metadata
import itertools
import pathlib
import sys

import fixtures

from cell0_rebuild import activation
from cell0_rebuild import patching

_numbers = itertools.count()

# Every callable of it tells who was called, outermost first. ORIGINAL holds
# what the dictionaries of the module and of its class hold at import.
SOURCE = '''
def function(a, b=1):
    return ['original', a, b]


class Owner:
    def method(self, a, b=1):
        return ['original', a, b]

    @staticmethod
    def static(a, b=1):
        return ['original', a, b]

    @classmethod
    def of_class(cls, a, b=1):
        return ['original', a, b]


class Heir(Owner):
    pass


TABLE = {'outer': {'inner': 'original'}}
VARIABLE = 1

ORIGINAL = {'function': function,
            **{f'Owner.{name}': value for name, value in vars(Owner).items()}}
'''

# Its function is another one than its source shows.
DECEPTIVE = SOURCE + '''
function = ORIGINAL['function'] = lambda other: ['original', other, 1]
'''

# The callables of SOURCE, and their signatures.
SIGNATURES = {
    'function': 'a, b=1',
    'Owner.method': 'self, a, b=1',
    'Owner.static': 'a, b=1',
    'Owner.of_class': 'cls, a, b=1',
}


class Modules(fixtures.Fixture):
    """A folder on sys.path whose modules are forgotten in the clean-up."""

    def _setUp(self):
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(
            fixtures.MonkeyPatch('sys.path', [str(self.path), *sys.path]))

    def write(self, source=SOURCE, package=None):
        """Write a module and return its name; it is not imported.

        :param package: the name of a package to write it in.
        """
        folder = self.path
        name = f'throwaway{next(_numbers)}'
        if package is not None:
            folder = self.path / package
            folder.mkdir(exist_ok=True)
            (folder / '__init__.py').touch()
            self.addCleanup(sys.modules.pop, package, None)
        (folder / f'{name}.py').write_text(source)
        importlib.invalidate_caches()
        if package is not None:
            name = f'{package}.{name}'
        self.addCleanup(sys.modules.pop, name, None)
        return name

    def load(self, source=SOURCE):
        """Write a module, import it and return it."""
        return importlib.import_module(self.write(source))


class Extensions(fixtures.Fixture):
    """Entry points of the package's extensions beside the installed ones."""

    def __init__(self, **extensions):
        """:param extensions: maps the name of one to its value."""
        super().__init__()
        self._extensions = extensions

    def _setUp(self):
        group = activation.NAMESPACE
        self.useFixture(fixtures.MonkeyPatch(
            'stevedore.ExtensionManager.ENTRY_POINT_CACHE', {group: [
                *(found for found in metadata.distribution(
                    'cell0-rebuild').entry_points if found.group == group),
                *(metadata.EntryPoint(name, value, group)
                  for name, value in self._extensions.items())]}))


def call(module, name):
    """Call a callable of SOURCE, through an instance if it is a method."""
    if name == 'function':
        return module.function(1)
    return getattr(module.Owner(), name.removeprefix('Owner.'))(1)


def raw(module, name):
    """Return what the dictionary that holds a callable of SOURCE holds."""
    owner = module if name == 'function' else module.Owner
    return vars(owner)[name.removeprefix('Owner.')]


def target(module, name, signature=None):
    """Return a target in a throw-away module, by default as it is there."""
    if signature is None:
        signature = SIGNATURES[name]
    return patching.Target(module, name, signature, 'for a test')


def patch(module, name, signature=None):
    """Return the patch of a callable of a throw-away module."""
    return patching.Patch(
        target(module, name, signature), 'tests.unit.throwaway:ours')


def ours(wrapped, instance, *args, **kwargs):
    """The wrapper under test."""
    return ['ours', *wrapped(*args, **kwargs)]


def new_item():
    """Make the value of an entry of TABLE."""
    return 'new'


def no_item():
    """Leave an entry of TABLE alone."""
