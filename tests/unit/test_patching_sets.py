# SPDX-License-Identifier: Apache-2.0

"""Patches that are made together or not at all."""

import importlib
import itertools
import sys

import ddt
import fixtures

from cell0_rebuild import exceptions
from cell0_rebuild import patching
from cell0_rebuild import signatures
from tests.unit import throwaway
from tests.unit import throwaway_base
from tests.unit.throwaway import patch

ORDERS = sorted(set(map(' '.join, itertools.permutations(
    ['import', 'patch', 'patch', 'unpatch', 'unpatch']))))


class _TestCase(throwaway_base.TestCase):

    def setUp(self):
        super().setUp()
        self.events = []

    def install(self, patches):
        """Install and note what it reports."""
        patches.install(lambda: self.events.append('done'),
                        lambda error: self.events.append(str(error)))


def whole(module):
    """Return patches of all callables of a throw-away module."""
    return [patch(module, name) for name in throwaway.SIGNATURES]


class PatchedTest(_TestCase):

    def test_what_is_only_checked_is_not_told(self):
        name = self.modules.write()
        first, second, *_ = throwaway.SIGNATURES
        patches = patching.PatchSet([
            patch(name, first),
            patching.Reliance(patching.Target(name, second, '', ''))])
        self.assertEqual([f'{name}:{first}'], patches.patched)


@ddt.ddt
class OrderTest(_TestCase):

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
class MismatchTest(_TestCase):

    @ddt.data(0, 1, 2)
    def test_one_bad_target_of_loaded_modules_patches_none(self, position):
        modules = [self.modules.load(), self.modules.load()]
        changes = [patch(module.__name__, 'function') for module in modules]
        changes.insert(
            position, patch(modules[0].__name__, 'Owner.method', 'a'))
        patches = patching.PatchSet(changes)
        self.assertRaises(exceptions.PatchMismatch, patches.install)
        for module in modules:
            self.assert_original(module, 'function')

    @ddt.data(0, 1, 2)
    def test_one_bad_target_of_modules_to_come_patches_none(self, position):
        modules = [self.modules.load().__name__, self.modules.write()]
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

    def test_the_source_of_a_module_is_parsed_once(self):
        parse = self.useFixture(fixtures.MockPatchObject(
            signatures.ast, 'parse', wraps=signatures.ast.parse)).mock
        sets = map(whole, (self.modules.write(), self.modules.write()))
        patching.PatchSet(itertools.chain(*zip(*sets))).check()
        self.assertEqual(2, parse.call_count)

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


class LaterImportTest(_TestCase):

    def test_a_module_is_patched_at_its_import(self):
        name = self.modules.write()
        patching.PatchSet(whole(name)).install()
        module = importlib.import_module(name)
        for target in throwaway.SIGNATURES:
            self.assert_patched(module, target)

    def test_a_module_in_a_package_is_patched_at_its_import(self):
        name = self.modules.write(package='throwaway_package')
        patching.PatchSet(whole(name)).install()
        self.assert_patched(importlib.import_module(name), 'function')

    def test_an_entry_is_changed_at_the_import(self):
        name = self.modules.write()
        patching.PatchSet([item(name)]).install()
        module = importlib.import_module(name)
        self.assertEqual({'outer': {'inner': 'new'}}, module.TABLE)

    def test_it_reports_when_all_modules_are_patched(self):
        names = [self.modules.write(), self.modules.load().__name__,
                 self.modules.write()]
        self.install(patching.PatchSet(
            patch(name, 'function') for name in names))
        importlib.import_module(names[2])
        self.assertEqual([], self.events)
        importlib.import_module(names[0])
        self.assertEqual(['done'], self.events)

    def test_it_reports_at_once_when_all_modules_are_there(self):
        module = self.modules.load()
        self.install(patching.PatchSet([patch(module.__name__, 'function')]))
        self.assertEqual(['done'], self.events)

    def test_it_reports_once_when_it_is_installed_twice(self):
        module = self.modules.load()
        patches = patching.PatchSet([patch(module.__name__, 'function')])
        self.install(patches)
        self.install(patches)
        self.assertEqual(['done'], self.events)

    def test_an_install_after_removal_reports_to_its_own_caller(self):
        name = self.modules.write()
        patches = patching.PatchSet([patch(name, 'function')])
        patches.install(lambda: self.events.append('the first'))
        patches.remove()
        self.install(patches)
        importlib.import_module(name)
        self.assertEqual(['done'], self.events)

    def test_install_now_imports_and_patches(self):
        names = [self.modules.write(), self.modules.write()]
        patching.PatchSet(
            patch(name, 'function') for name in names).install_now()
        for name in names:
            self.assert_patched(sys.modules[name], 'function')

    def test_install_now_with_a_mismatch_patches_nothing(self):
        name = self.modules.write()
        patches = patching.PatchSet([
            patch(name, 'function'), patch(name, 'Owner.method', 'a')])
        self.assertRaises(exceptions.PatchMismatch, patches.install_now)
        self.assert_original(importlib.import_module(name), 'function')


class LateMismatchTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.loaded = self.modules.load()
        self.deceptive = self.modules.write(throwaway.DECEPTIVE)
        self.patches = patching.PatchSet([
            patch(self.loaded.__name__, 'function'),
            patch(self.deceptive, 'Owner.method'),
            patch(self.deceptive, 'function')])

    def test_everything_is_taken_back(self):
        self.install(self.patches)
        self.assert_patched(self.loaded, 'function')
        module = importlib.import_module(self.deceptive)
        self.assert_original(self.loaded, 'function')
        self.assert_original(module, 'function')
        self.assert_original(module, 'Owner.method')

    def test_the_mismatch_is_reported_and_nothing_else(self):
        self.install(self.patches)
        importlib.import_module(self.deceptive)
        self.assertEqual(
            [f'{self.deceptive}:function has the signature (other) where '
             f'(a, b=1) was tested'], self.events)

    def test_what_is_imported_afterwards_is_left_alone(self):
        name = self.modules.write()
        self.patches.changes.append(patch(name, 'function'))
        self.install(self.patches)
        importlib.import_module(self.deceptive)
        self.assert_original(importlib.import_module(name), 'function')

    def test_without_a_callback_the_import_fails(self):
        self.patches.install()
        error = self.assertRaises(
            exceptions.PatchMismatch, importlib.import_module, self.deceptive)
        self.assertIn(self.deceptive, str(error))
        self.assert_original(self.loaded, 'function')

    def test_a_wrapper_of_ours_that_cannot_be_imported_is_one(self):
        name = self.modules.write()
        self.install(patching.PatchSet([
            patch(self.loaded.__name__, 'function'),
            patching.Patch(patch(name, 'function').target, 'no.such:wrapper'),
        ]))
        self.assert_original(importlib.import_module(name), 'function')
        self.assert_original(self.loaded, 'function')
        [event] = self.events
        self.assertIn(f"{name}: ModuleNotFoundError(", event)

    def test_a_function_that_is_gone_after_the_import_is_a_mismatch(self):
        name = self.modules.write(throwaway.SOURCE + '\ndel function\n')
        self.install(patching.PatchSet([patch(name, 'function')]))
        importlib.import_module(name)
        self.assertEqual([f'{name}:function does not exist'], self.events)

    def test_an_entry_that_is_not_there_is_a_mismatch(self):
        name = self.modules.write(throwaway.SOURCE + '\ndel TABLE\n')
        self.install(patching.PatchSet([
            patch(self.loaded.__name__, 'function'), item(name)]))
        importlib.import_module(name)
        self.assertEqual(
            [f'{name}:TABLE[outer][inner] does not exist'], self.events)
        self.assert_original(self.loaded, 'function')


class HalfImportedTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.name = self.modules.write(
            'from tests.unit import test_patching_sets\n'
            'test_patching_sets.half_imported()\n' + throwaway.SOURCE)
        self.patches = patching.PatchSet([patch(self.name, 'function')])

    def meanwhile(self, action):
        """Let something happen while the module is imported."""
        self.useFixture(fixtures.MonkeyPatch(
            'tests.unit.test_patching_sets.half_imported', action))

    def test_its_source_is_what_counts(self):
        self.meanwhile(lambda: self.events.append(
            self.patches.changes[0].problem()))
        importlib.import_module(self.name)
        self.assertEqual([None], self.events)

    def test_its_source_counts_again_when_it_is_imported_again(self):
        self.patches.install()
        importlib.import_module(self.name)
        self.patches.remove()
        del sys.modules[self.name]
        self.meanwhile(lambda: self.events.append(
            self.patches.changes[0].problem()))
        importlib.import_module(self.name)
        self.assertEqual([None], self.events)

    def test_it_is_too_late_to_patch_it(self):
        self.meanwhile(lambda: self.install(self.patches))
        module = importlib.import_module(self.name)
        self.assertEqual([f'{self.name}:function does not exist'], self.events)
        self.assert_original(module, 'function')


def half_imported():
    """Is replaced by a test, and called by a module that is imported."""


def item(module):
    """Return the patch of an entry of a throw-away module."""
    return patching.ItemPatch(
        patching.Item(module, 'TABLE', ('outer', 'inner'), ''),
        'tests.unit.throwaway:new_item')
