# SPDX-License-Identifier: Apache-2.0

"""Change functions of Nova from outside, all of them or none, and undo it.

A :class:`Target` names a function of Nova, the signature it was tested with
and the reason why we touch it. A :class:`Patch` wraps a target with wrapt. A
:class:`PatchSet` checks every target first, from its source where the module
must not be imported yet, and then patches what is imported and the rest as it
is imported.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import operator
import pkgutil
import sys
import threading
import types
import typing as ty

import wrapt

from cell0_rebuild import exceptions
from cell0_rebuild import signatures


@dataclasses.dataclass(frozen=True)
class Form:
    """What some releases of Nova have in place of a target.

    :param releases: which, for people; what counts is what is found.
    :param name: the name there, or None if it is the same.
    :param signature: the signature there, or None if it is the same.
    """

    releases: str
    name: str | None = None
    signature: str | None = None


@dataclasses.dataclass(frozen=True)
class Target:
    """A function of Nova that the package rests on.

    :param module: the module that defines it.
    :param name: ``function`` or ``Class.method``, as defined there.
    :param signature: the signature that the package was tested with.
    :param reason: why the package touches it.
    :param others: its other forms, in other releases.
    :param absent: the releases that do not have it in any form and that the
        package was tested with all the same.
    """

    module: str
    name: str
    signature: str
    reason: str
    others: tuple[Form, ...] = ()
    absent: str | None = None

    def __str__(self) -> str:
        return f'{self.module}:{self.name}'

    def problem(self) -> str | None:
        """Return what is wrong with the target in this Nova, or None."""
        name, found = self.found()
        if found is None:
            return None if self.absent else f'{self} does not exist'
        tested = self._tested()[name]
        if found not in tested:
            return (f'{self.module}:{name} has the signature ({found}) where '
                    f'({") or (".join(tested)}) was tested')
        return None

    def found(self) -> tuple[str, str | None]:
        """Return the name that it has in this Nova, and the signature.

        The signature is None if it is not there by any name.
        """
        for name in self._tested():
            if _loaded(self.module):
                found = self._render_loaded(name)
            else:
                found = signatures.read(self.module, name)
            if found is not None:
                return name, found
        return self.name, None

    def owner(self) -> tuple[ty.Any, str]:
        """Return the class or module that holds the target, and its key.

        :raises AttributeError: if the owner does not exist.
        """
        return self._owner_of(self.found()[0])

    def _tested(self) -> dict[str, list[str]]:
        tested = {self.name: [self.signature]}
        for form in self.others:
            tested.setdefault(form.name or self.name, []).append(
                form.signature or self.signature)
        return tested

    def _owner_of(self, path: str) -> tuple[ty.Any, str]:
        *owners, attribute = path.split('.')
        owner: ty.Any = sys.modules[self.module]
        for name in owners:
            owner = getattr(owner, name)
        return owner, attribute

    def _render_loaded(self, name: str) -> str | None:
        try:
            owner, attribute = self._owner_of(name)
            # An inherited function is not ours to patch: that would leave a
            # copy on the subclass after undo.
            raw = vars(owner)[attribute]
        except (AttributeError, KeyError):
            return None
        if isinstance(raw, (staticmethod, classmethod)):
            raw = raw.__func__
        if not callable(raw):
            return None
        if (raw.__module__ == self.module
                and '<locals>' in getattr(raw, '__qualname__', '')):
            # A decorator beside it hides its signature.
            return signatures.read(self.module, name)
        return signatures.render(raw)


class Change(ty.Protocol):
    """Something that a :class:`PatchSet` applies and undoes."""

    @property
    def module(self) -> str:
        """The module that must be imported before :meth:`apply`."""

    def problem(self) -> str | None:
        """Return why the change cannot be made to this Nova, or None."""

    def apply(self) -> None:
        """Make the change; doing it again is harmless."""

    def undo(self) -> None:
        """Take the change back; doing it again is harmless."""


class Reliance:
    """A target that is called or overridden: checked, never changed."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __str__(self) -> str:
        return str(self.target)

    @property
    def module(self) -> str:
        return self.target.module

    def problem(self) -> str | None:
        return self.target.problem()

    def apply(self) -> None:
        """Change nothing."""

    def undo(self) -> None:
        """Change nothing."""


class Patch(Reliance):
    """A wrapt wrapper around one target."""

    def __init__(self, target: Target, wrapper: str) -> None:
        """:param wrapper: ``module:function``, imported when applied.

        It is called as ``wrapper(wrapped, instance, *args, **kwargs)``.
        """
        super().__init__(target)
        self._wrapper = wrapper
        # Of each application, because a wrapper that somebody else holds
        # must not work again when the target is patched anew.
        self._active: threading.Event | None = None
        self._original: ty.Any = None
        self._installed: ty.Any = None

    def apply(self) -> None:
        if self._active is not None:
            return
        owner, attribute = self.target.owner()
        found = vars(owner)[attribute]
        if found is not self._installed:
            self._original = found
        self._active = threading.Event()
        self._active.set()
        self._installed = wrapt.FunctionWrapper(
            self._original, _unpacking(pkgutil.resolve_name(self._wrapper)),
            enabled=self._active.is_set)
        setattr(owner, attribute, self._installed)

    def undo(self) -> None:
        """Put the original back, or pass through if it is wrapped again."""
        if self._active is None:
            return
        self._active.clear()
        self._active = None
        owner, attribute = self.target.owner()
        if vars(owner)[attribute] is self._installed:
            setattr(owner, attribute, self._original)


def _unpacking(wrapper: ty.Callable[..., ty.Any]) -> ty.Callable[..., ty.Any]:
    """Return what wrapt calls with the arguments in a tuple and a dict."""
    def call(
        wrapped: ty.Any, instance: ty.Any, args: ty.Any, kwargs: ty.Any
    ) -> ty.Any:
        return wrapper(wrapped, instance, *args, **kwargs)
    return call


@dataclasses.dataclass(frozen=True)
class Item:
    """An entry of a module-level dictionary of Nova.

    :param name: the dictionary.
    :param path: the keys that lead to the entry.
    :param reason: why the package touches it.
    """

    module: str
    name: str
    path: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f'{self.module}:{self.name}[{"][".join(self.path)}]'

    def holder(self) -> dict[str, ty.Any]:
        """Return the innermost dictionary.

        :raises AttributeError, KeyError: if it is not there.
        """
        found = getattr(sys.modules[self.module], self.name)
        for key in self.path[:-1]:
            found = found[key]
        return ty.cast('dict[str, ty.Any]', found)


class ItemPatch:
    """A changed entry of a dictionary of Nova."""

    def __init__(self, item: Item, make: str) -> None:
        """:param make: ``module:function``, imported when applied.

        It returns the new value, or None to leave the entry alone.
        """
        self.item = item
        self._make = make
        self._saved: list[ty.Any] = []

    def __str__(self) -> str:
        return str(self.item)

    @property
    def module(self) -> str:
        return self.item.module

    def problem(self) -> str | None:
        if not _loaded(self.module):
            found = signatures.locate(self.module) is not None
            return None if found else f'{self} does not exist'
        try:
            self.item.holder()[self.item.path[-1]]
        except (AttributeError, KeyError):
            return f'{self} does not exist'
        return None

    def apply(self) -> None:
        value = pkgutil.resolve_name(self._make)()
        if value is not None and not self._saved:
            holder, key = self.item.holder(), self.item.path[-1]
            self._saved.append(holder[key])
            holder[key] = value

    def undo(self) -> None:
        if self._saved:
            self.item.holder()[self.item.path[-1]] = self._saved.pop()


class PatchSet:
    """Changes that are made together or not at all."""

    def __init__(self, changes: collections.abc.Iterable[Change]) -> None:
        self.changes = list(changes)
        self._pending: set[str] = set()
        self._installed = False
        self._when_done: ty.Callable[[], None] = lambda: None
        self._when_late_mismatch: ty.Callable[
            [exceptions.PatchMismatch], None] | None = None

    @property
    def patched(self) -> list[str]:
        """What is changed of Nova, without what is only checked."""
        return [str(change) for change in self.changes
                if type(change) is not Reliance]

    def check(self) -> None:
        """Check every target.

        :raises PatchMismatch: with a sentence for each that does not match.
        """
        # The source that was parsed last is the only one that is kept.
        by_module = sorted(self.changes, key=operator.attrgetter('module'))
        try:
            problems = [problem for change in by_module
                        if (problem := change.problem())]
        finally:
            signatures.forget()
        if problems:
            raise exceptions.PatchMismatch(problems)

    def install(
        self,
        when_done: ty.Callable[[], None] = lambda: None,
        when_late_mismatch: ty.Callable[
            [exceptions.PatchMismatch], None] | None = None,
    ) -> None:
        """Patch what is imported now, and the rest as it is imported.

        :param when_done: called once everything is patched.
        :param when_late_mismatch: called, with nothing patched any more, if a
            module turns out at its import not to be what its source showed;
            without it the import fails.
        :raises PatchMismatch: if a target does not match; nothing is patched.
        """
        if self._installed:
            return
        self.check()
        self._installed = True
        self._when_done = when_done
        self._when_late_mismatch = when_late_mismatch
        modules = list(dict.fromkeys(c.module for c in self.changes))
        self._pending = set(modules)

        def patch(module: types.ModuleType) -> None:
            self._patch(module.__name__)

        for name in modules:
            if _loaded(name):
                self._patch(name)
            else:
                wrapt.register_post_import_hook(patch, name)

    def install_now(self) -> None:
        """Import the modules of all targets and patch them.

        :raises PatchMismatch: if a target does not match; nothing is patched.
        """
        for change in self.changes:
            importlib.import_module(change.module)
        self.install()

    def remove(self) -> None:
        """Take everything back: the identical objects are in place again."""
        self._installed = False
        self._pending.clear()
        for change in reversed(self.changes):
            change.undo()

    def _patch(self, name: str) -> None:
        if name not in self._pending:
            return
        mine = [change for change in self.changes if change.module == name]
        _executed.add(name)
        try:
            PatchSet(mine).check()
            for change in mine:
                change.apply()
        except Exception as error:
            self.remove()
            if self._when_late_mismatch is None:
                raise
            if not isinstance(error, exceptions.PatchMismatch):
                error = exceptions.PatchMismatch([f'{name}: {error!r}'])
            self._when_late_mismatch(error)
            return
        finally:
            _executed.discard(name)
        self._pending.discard(name)
        if not self._pending:
            self._when_done()


# Modules that are being patched from a hook: their code has run, but the
# import machinery, which calls the hook, is not through with them.
_executed: set[str] = set()


def _loaded(module: str) -> bool:
    found = sys.modules.get(module)
    spec = getattr(found, '__spec__', None)
    initializing = getattr(spec, '_initializing', False)
    return found is not None and (not initializing or module in _executed)
