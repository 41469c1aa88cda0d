# SPDX-License-Identifier: Apache-2.0

"""Targets, and the patch of one target."""

import itertools

import ddt
import wrapt

from cell0_rebuild import patching
from tests.unit import throwaway
from tests.unit import throwaway_base
from tests.unit.throwaway import patch
from tests.unit.throwaway import target


@ddt.ddt
class TargetTest(throwaway_base.TestCase):

    @ddt.data(*throwaway.SIGNATURES)
    def test_a_target_that_matches_is_no_problem(self, name):
        self.assertIsNone(target(self.modules.write(), name).problem())

    @ddt.data(*throwaway.SIGNATURES)
    def test_another_signature_is_a_problem(self, name):
        module = self.modules.write()
        found = throwaway.SIGNATURES[name]
        self.assertEqual(
            f'{module}:{name} has the signature ({found}) where (a, z=1) was '
            f'tested', target(module, name, 'a, z=1').problem())

    @ddt.data('absent', 'Absent.method', 'Owner.absent', 'VARIABLE', 'TABLE')
    def test_a_target_that_the_module_lacks_is_a_problem(self, name):
        module = self.modules.write()
        self.assertEqual(f'{module}:{name} does not exist',
                         target(module, name, 'a').problem())

    def test_a_target_in_a_missing_module_is_a_problem(self):
        self.assertEqual('no_such_module:function does not exist',
                         target('no_such_module', 'function').problem())

    def test_a_function_that_a_class_inherits_is_refused(self):
        module = self.modules.write()
        self.assertEqual(
            f'{module}:Heir.method does not exist',
            target(module, 'Heir.method', 'self, a, b=1').problem())

    def test_what_is_imported_counts_not_its_source(self):
        module = self.modules.load()
        module.function = lambda other: None
        self.assertEqual(
            f'{module.__name__}:function has the signature (other) where '
            f'(a, b=1) was tested',
            target(module.__name__, 'function').problem())

    def test_a_target_that_somebody_wrapped_is_no_problem(self):
        module = self.modules.load()
        wrapt.wrap_function_wrapper(module, 'Owner.method', throwaway.ours)
        self.assertIsNone(target(module.__name__, 'Owner.method').problem())


@ddt.ddt
class PatchTest(throwaway_base.TestCase):

    @ddt.data(*itertools.product(throwaway.SIGNATURES, (
        'apply', 'apply apply', 'apply undo apply')))
    @ddt.unpack
    def test_what_ends_with_apply_wraps_the_target_once(self, name, steps):
        self.assert_patched(self.after(name, steps), name)

    @ddt.data(*itertools.product(throwaway.SIGNATURES, (
        'undo', 'apply undo', 'apply undo undo', 'apply undo apply undo')))
    @ddt.unpack
    def test_what_ends_with_undo_leaves_the_identical_object(
        self, name, steps
    ):
        self.assert_original(self.after(name, steps), name)

    def after(self, name, steps):
        """Return a module whose patch has had these methods called."""
        module = self.modules.load()
        ours = patch(module.__name__, name)
        for step in steps.split():
            getattr(ours, step)()
        return module

    def test_undo_before_the_module_is_imported_is_harmless(self):
        patch(self.modules.write(), 'function').undo()

    @ddt.data('static', 'of_class')
    def test_a_patched_class_can_be_called_without_instance(self, name):
        module = self.modules.load()
        patch(module.__name__, f'Owner.{name}').apply()
        self.assertEqual(['ours', 'original', 1, 2],
                         getattr(module.Owner, name)(1, b=2))

    def test_the_wrapper_of_a_method_is_given_the_instance(self):
        module = self.modules.load()
        patching.Patch(target(module.__name__, 'Owner.method'),
                       'tests.unit.test_patching:tell').apply()
        owner = module.Owner()
        self.assertEqual((owner, (1,), {'b': 2}), owner.method(1, b=2))

    def test_a_subclass_inherits_the_patch(self):
        module = self.modules.load()
        patch(module.__name__, 'Owner.method').apply()
        self.assertEqual(['ours', 'original', 1, 1], module.Heir().method(1))

    def test_undo_leaves_no_copy_on_a_subclass(self):
        module = self.modules.load()
        before = dict(vars(module.Heir))
        ours = patch(module.__name__, 'Owner.method')
        ours.apply()
        ours.undo()
        self.assertEqual(before, dict(vars(module.Heir)))

    def test_a_patched_function_keeps_its_name_and_signature(self):
        module = self.modules.load()
        ours = patch(module.__name__, 'Owner.method')
        ours.apply()
        self.assertIsNone(ours.problem())
        self.assertEqual('method', module.Owner.method.__name__)

    def test_an_exception_of_the_original_goes_through(self):
        module = self.modules.load()
        patch(module.__name__, 'function').apply()
        self.assertRaises(TypeError, module.function)

    def test_it_is_named_after_its_target(self):
        self.assertEqual('module:function', str(patch('module', 'function')))


class RelianceTest(throwaway_base.TestCase):

    def test_a_mismatch_is_a_problem(self):
        module = self.modules.write()
        self.assertEqual(
            f'{module}:function has the signature (a, b=1) where (z) was '
            f'tested',
            patching.Reliance(target(module, 'function', 'z')).problem())

    def test_apply_and_undo_change_nothing(self):
        module = self.modules.load()
        before = dict(vars(module))
        reliance = patching.Reliance(target(module.__name__, 'function'))
        reliance.apply()
        self.assertEqual(before, vars(module))
        reliance.undo()
        self.assertEqual(before, vars(module))


@ddt.ddt
class ItemPatchTest(throwaway_base.TestCase):

    def item(self, module, *path, name='TABLE', make='new_item'):
        """Return a patch of an entry of a throw-away module's TABLE."""
        return patching.ItemPatch(
            patching.Item(module, name, path or ('outer', 'inner'), ''),
            f'tests.unit.throwaway:{make}')

    @ddt.data(('apply', 'new'), ('apply apply undo', 'original'),
              ('apply undo undo', 'original'), ('undo', 'original'))
    @ddt.unpack
    def test_the_last_of_apply_and_undo_decides(self, steps, value):
        module = self.modules.load()
        ours = self.item(module.__name__)
        for step in steps.split():
            getattr(ours, step)()
        self.assertEqual({'outer': {'inner': value}}, module.TABLE)

    def test_undo_puts_the_identical_value_back(self):
        module = self.modules.load()
        original = module.TABLE['outer']
        ours = self.item(module.__name__, 'outer')
        ours.apply()
        self.assertEqual({'outer': 'new'}, module.TABLE)
        ours.undo()
        self.assertIs(original, module.TABLE['outer'])

    def test_none_leaves_the_entry_alone(self):
        module = self.modules.load()
        ours = self.item(module.__name__, make='no_item')
        ours.apply()
        self.assertEqual({'outer': {'inner': 'original'}}, module.TABLE)
        ours.undo()
        self.assertEqual({'outer': {'inner': 'original'}}, module.TABLE)

    def test_an_entry_that_exists_is_no_problem(self):
        self.assertIsNone(self.item(self.modules.load().__name__).problem())

    def test_a_module_that_is_not_imported_yet_is_no_problem(self):
        self.assertIsNone(self.item(self.modules.write()).problem())

    @ddt.data(('no_such_module', 'TABLE', 'inner'), (None, 'ABSENT', 'inner'),
              (None, 'TABLE', 'absent'))
    @ddt.unpack
    def test_what_is_missing_is_a_problem(self, module, name, key):
        module = module or self.modules.load().__name__
        self.assertEqual(
            f'{module}:{name}[outer][{key}] does not exist',
            self.item(module, 'outer', key, name=name).problem())


def tell(wrapped, instance, *args, **kwargs):
    """A wrapper that returns what it is given."""
    return instance, args, kwargs


class FormsTest(throwaway_base.TestCase):

    OLDER = patching.Form(
        '26', name='Owner.method', signature='self, a, b=1')
    OTHER = patching.Form('27', name='Owner.method', signature='self, b')

    def target(self, module, *others, absent=None):
        """Return a target that the throw-away module has by another name."""
        return patching.Target(
            module, 'Owner.newer', 'self, a', 'for a test', others, absent)

    def test_a_target_with_an_older_name_is_no_problem(self):
        self.assertIsNone(self.target(
            self.modules.write(), self.OTHER, self.OLDER).problem())

    def test_a_signature_of_no_release_is_a_problem(self):
        module = self.modules.write()
        self.assertEqual(
            f'{module}:Owner.method has the signature (self, a, b=1) where '
            f'(self, b) or (self, a) was tested', self.target(
                module, self.OTHER,
                patching.Form('28', name='Owner.method')).problem())

    def test_a_target_without_any_of_its_names_is_a_problem(self):
        module = self.modules.write()
        self.assertEqual(
            f'{module}:Owner.newer does not exist', self.target(
                module, patching.Form('26', name='Owner.older')).problem())

    def test_a_target_that_tested_releases_lack_is_no_problem(self):
        self.assertIsNone(
            self.target(self.modules.write(), absent='26').problem())

    def test_a_target_is_patched_by_its_older_name(self):
        module = self.modules.load()
        patched = patching.Patch(
            self.target(module.__name__, self.OLDER),
            'tests.unit.throwaway:ours')
        patched.apply()
        self.assert_patched(module, 'Owner.method')
        patched.undo()
        self.assert_original(module, 'Owner.method')
