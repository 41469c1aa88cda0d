# SPDX-License-Identifier: Apache-2.0

"""Patches that are made together or not at all."""

import importlib
import itertools
import sys

import ddt
import fixtures

from cell0_rebuild import exceptions
from cell0_rebuild import patching
from tests.unit import throwaway
from tests.unit import throwaway_base
from tests.unit.throwaway import patch

ORDERS = sorted(set(map(' '.join, itertools.permutations(
    ['import', 'patch', 'patch', 'unpatch', 'unpatch']))))


def whole(module):
    """Return patches of all callables of a throw-away module."""
    return [patch(module, name) for name in throwaway.SIGNATURES]


class PatchedTest(throwaway_base.TestCase):

    def test_what_is_only_checked_is_not_told(self):
        name = self.modules.write()
        first, second, *_ = throwaway.SIGNATURES
        patches = patching.PatchSet([
            patch(name, first),
            patching.Reliance(patching.Target(name, second, '', ''))])
        self.assertEqual([f'{name}:{first}'], patches.patched)


@ddt.ddt
class OrderTest(throwaway_base.TestCase):

    @ddt.data(*ORDERS)
    def test_the_last_of_patch_and_unpatch_decides(self, order):
        name = self.modules.write()
        patches = patching.PatchSet(whole(name))
        module, patched = None, False
        for step in order.split():
            if step == 'import':
                module = importlib.import_module(name)
            elif step == 'patch':
                patches.install()
                patched = True
            else:
                patches.remove()
                patched = False
            if module is not None:
                check = self.assert_patched if patched else (
                    self.assert_original)
                for target in throwaway.SIGNATURES:
                    check(module, target)


@ddt.ddt
class MismatchTest(throwaway_base.TestCase):

    @ddt.data(*itertools.product((0, 1, 2), (True, False)))
    @ddt.unpack
    def test_one_bad_target_patches_none(self, position, is_to_come):
        modules = [self.modules.load().__name__, self.modules.write()
                   if is_to_come else self.modules.load().__name__]
        changes = [patch(module, 'function') for module in modules]
        changes.insert(position, patch(modules[1], 'Owner.method', 'a'))
        patches = patching.PatchSet(changes)
        self.assertRaises(exceptions.PatchMismatch, patches.install)
        for module in modules:
            self.assert_original(importlib.import_module(module), 'function')

    def test_a_bad_reliance_patches_none(self):
        module = self.modules.load()
        patches = patching.PatchSet([
            patch(module.__name__, 'function'),
            patching.Reliance(throwaway.target(
                module.__name__, 'Owner.method', 'a'))])
        self.assertRaises(exceptions.PatchMismatch, patches.install)
        self.assert_original(module, 'function')

    def test_the_error_has_a_sentence_for_each_bad_target(self):
        module = self.modules.load().__name__
        patches = patching.PatchSet([
            patch(module, 'function', 'x'), patch(module, 'Owner.method'),
            patch(module, 'absent', 'y')])
        error = self.assertRaises(
            exceptions.PatchMismatch, patches.check)
        self.assertEqual(
            [f'{module}:function has the signature (a, b=1) where (x) was '
             f'tested', f'{module}:absent does not exist'], error.problems)
        self.assertEqual('; '.join(error.problems), str(error))

    def test_check_patches_nothing(self):
        module = self.modules.load()
        patching.PatchSet([patch(module.__name__, 'function')]).check()
        self.assert_original(module, 'function')

    def test_it_can_be_installed_once_the_mismatch_is_gone(self):
        module = self.modules.load()
        original, module.function = module.function, lambda other: None
        patches = patching.PatchSet([patch(module.__name__, 'function')])
        self.assertRaises(exceptions.PatchMismatch, patches.install)
        module.function = original
        patches.install()
        self.assert_patched(module, 'function')

    def test_a_wrapper_that_cannot_be_loaded_patches_none(self):
        module = self.modules.load()
        patches = patching.PatchSet([
            patch(module.__name__, 'function'),
            patching.Patch(
                throwaway.target(module.__name__, 'Owner.method'),
                'tests.unit.throwaway:absent')])
        self.assertRaises(AttributeError, patches.install)
        for name in throwaway.SIGNATURES:
            self.assert_original(module, name)


class ImportTest(throwaway_base.TestCase):

    def test_what_is_not_imported_yet_is_imported_and_patched(self):
        names = [self.modules.write(),
                 self.modules.write(package='throwaway_package')]
        patching.PatchSet(
            patch(name, 'function') for name in names).install()
        for name in names:
            self.assert_patched(sys.modules[name], 'function')

    def test_an_entry_is_changed(self):
        name = self.modules.write()
        patching.PatchSet([item(name)]).install()
        self.assertEqual(
            {'outer': {'inner': 'new'}}, sys.modules[name].TABLE)

    def test_what_is_imported_counts_and_not_its_source(self):
        loaded = self.modules.load()
        name = self.modules.write(throwaway.DECEPTIVE)
        error = self.assertRaises(
            exceptions.PatchMismatch, patching.PatchSet([
                patch(loaded.__name__, 'function'),
                patch(name, 'function')]).install)
        self.assertEqual(
            [f'{name}:function has the signature (other) where (a, b=1) was '
             f'tested'], error.problems)
        self.assert_original(loaded, 'function')

    def test_a_module_that_cannot_be_imported_patches_none(self):
        loaded = self.modules.load()
        name = self.modules.write('raise RuntimeError("it is broken")')
        self.assertRaises(RuntimeError, patching.PatchSet([
            patch(loaded.__name__, 'function'),
            patch(name, 'function')]).install)
        self.assert_original(loaded, 'function')

    def test_a_module_that_is_half_imported_is_a_mismatch(self):
        name = self.modules.write(
            'from tests.unit import test_patching_sets\n'
            'test_patching_sets.half_imported()\n' + throwaway.SOURCE)
        patches = patching.PatchSet([patch(name, 'function')])
        self.useFixture(fixtures.MonkeyPatch(
            'tests.unit.test_patching_sets.half_imported', patches.install))
        error = self.assertRaises(
            exceptions.PatchMismatch, importlib.import_module, name)
        self.assertEqual([f'{name}:function does not exist'], error.problems)


def half_imported():
    """Is replaced by a test, and called by a module that is imported."""


def item(module):
    """Return the patch of an entry of a throw-away module."""
    return patching.ItemPatch(
        patching.Item(module, 'TABLE', ('outer', 'inner'), ''),
        'tests.unit.throwaway:new_item')
