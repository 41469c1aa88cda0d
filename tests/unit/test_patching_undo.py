# SPDX-License-Identifier: Apache-2.0

"""Undo of a patch that somebody else has wrapped meanwhile."""

import functools
import itertools

import ddt
import wrapt

from tests.unit import throwaway
from tests.unit import throwaway_base


def theirs(wrapped, instance, args, kwargs):
    """Somebody else's wrapper."""
    return ['theirs', *wrapped(*args, **kwargs)]


def wrap_with_wrapt(owner, name):
    """Wrap as the users of wrapt do."""
    wrapt.wrap_function_wrapper(owner, name, theirs)


def wrap_with_closure(owner, name):
    """Wrap what the dictionary of the owner holds."""
    seen = vars(owner)[name]

    @functools.wraps(seen)
    def closure(*args, **kwargs):
        return ['theirs', *seen(*args, **kwargs)]

    setattr(owner, name, closure)


def wrap_bound_with_closure(owner, name):
    """Wrap what the owner's attribute gives."""
    seen = getattr(owner, name)

    @functools.wraps(seen)
    def closure(*args, **kwargs):
        return ['theirs', *seen(*args, **kwargs)]

    setattr(owner, name, closure)


@ddt.ddt
class UndoBelowOthersTest(throwaway_base.TestCase):

    def setUp(self):
        super().setUp()
        self.module = self.modules.load()
        self.patches = {
            name: throwaway.patch(self.module.__name__, name)
            for name in throwaway.SIGNATURES}

    def apply(self, name):
        """Apply our patch and return it and where it is."""
        self.patches[name].apply()
        owner = self.module if name == 'function' else self.module.Owner
        return self.patches[name], owner, name.removeprefix('Owner.')

    def assert_called(self, name, *who):
        """Check who is called, outermost first, before the original."""
        self.assertEqual([*who, 'original', 1, 1],
                         throwaway.call(self.module, name))

    @ddt.data(
        *((wrap_with_wrapt, name) for name in throwaway.SIGNATURES),
        *itertools.product((wrap_with_closure, wrap_bound_with_closure),
                           ('function', 'Owner.method')))
    @ddt.unpack
    def test_a_wrapper_stays_and_works_without_ours(self, wrap, name):
        ours, owner, attribute = self.apply(name)
        wrap(owner, attribute)
        wrapper = throwaway.raw(self.module, name)
        self.assert_called(name, 'theirs', 'ours')
        ours.undo()
        self.assertIs(wrapper, throwaway.raw(self.module, name))
        self.assert_called(name, 'theirs')

    @ddt.data(wrap_with_wrapt, wrap_with_closure, wrap_bound_with_closure)
    def test_ours_goes_from_under_two_wrappers(self, wrap):
        ours, owner, attribute = self.apply('Owner.method')
        wrap(owner, attribute)
        wrap_with_wrapt(owner, attribute)
        self.assert_called('Owner.method', 'theirs', 'theirs', 'ours')
        ours.undo()
        self.assert_called('Owner.method', 'theirs', 'theirs')

    @ddt.data(*throwaway.SIGNATURES)
    def test_ours_works_only_when_applied_after_they_restored(self, name):
        ours, owner, attribute = self.apply(name)
        seen = throwaway.raw(self.module, name)
        wrap_with_wrapt(owner, attribute)
        ours.undo()
        setattr(owner, attribute, seen)
        self.assert_called(name)
        ours.apply()
        self.assert_called(name, 'ours')
        ours.undo()
        self.assert_original(self.module, name)

    @ddt.data(*throwaway.SIGNATURES)
    def test_ours_works_once_when_applied_on_top_of_theirs(self, name):
        ours, owner, attribute = self.apply(name)
        wrap_with_wrapt(owner, attribute)
        wrapper = throwaway.raw(self.module, name)
        ours.undo()
        ours.apply()
        self.assert_called(name, 'ours', 'theirs')
        ours.undo()
        self.assertIs(wrapper, throwaway.raw(self.module, name))

    @ddt.data(*throwaway.SIGNATURES)
    def test_ours_is_not_put_on_top_of_theirs_while_it_is_below(self, name):
        ours, owner, attribute = self.apply(name)
        wrap_with_wrapt(owner, attribute)
        ours.apply()
        self.assert_called(name, 'theirs', 'ours')

    @ddt.data(*throwaway.SIGNATURES)
    def test_a_wrapper_that_was_there_before_ours_is_restored(self, name):
        owner = self.module if name == 'function' else self.module.Owner
        wrap_with_wrapt(owner, name.removeprefix('Owner.'))
        before = throwaway.raw(self.module, name)
        ours, *_ = self.apply(name)
        self.assert_called(name, 'ours', 'theirs')
        ours.undo()
        self.assertIs(before, throwaway.raw(self.module, name))
        self.assert_called(name, 'theirs')

    def test_a_replacement_that_does_not_call_ours_is_left_alone(self):
        ours, owner, attribute = self.apply('Owner.method')
        owner.method = replacement = lambda self, a: ['replaced']
        ours.undo()
        self.assertIs(replacement, vars(owner)[attribute])
