# SPDX-License-Identifier: Apache-2.0

"""Change functions of Nova from outside, all of them or none, and undo it.

A :class:`Target` names a function of Nova, the signature it was tested with
and the reason why we touch it. A :class:`Patch` wraps a target with wrapt. A
:class:`PatchSet` imports the modules of all targets and compares all
signatures before it changes anything.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import inspect
import pkgutil
import threading
import types
import typing as ty

import wrapt

from cell0_rebuild import exceptions

_Read = ty.Callable[[str, str], 'str | None']


def signature_of(module: str, name: str) -> str | None:
    """Return the signature of a function, without annotations.

    The module is imported. The text is for example ``self, context, instance,
    admin_password=None, **kwargs``.

    :param module: the dotted name of the module.
    :param name: ``function`` or ``Class.method``, as defined there.
    :returns: None if the module or the function is not there.
    """
    try:
        owner, attribute = _owner(module, name)
        # An inherited function is not ours to patch: that would leave a
        # copy on the subclass after undo.
        found = vars(owner)[attribute]
    except ModuleNotFoundError as error:
        if f'{module}.'.startswith(f'{error.name}.'):
            return None
        raise
    except (AttributeError, KeyError):
        return None
    found = getattr(found, '__func__', found)
    return _rendered(found) if callable(found) else None


def _owner(module: str, name: str) -> tuple[ty.Any, str]:
    """Return the class or module that holds a function, and its key."""
    *owners, attribute = name.split('.')
    owner: ty.Any = importlib.import_module(module)
    for key in owners:
        owner = getattr(owner, key)
    return owner, attribute


def _rendered(function: ty.Any) -> str:
    signature = inspect.signature(_decorated(function))
    bare = [parameter.replace(annotation=parameter.empty)
            for parameter in signature.parameters.values()]
    return str(signature.replace(
        parameters=bare, return_annotation=signature.empty))[1:-1]


def _decorated(function: ty.Any) -> ty.Any:
    """Return the function in decorators of its module that do not tell it."""
    inner = inspect.unwrap(function)
    if not (isinstance(inner, types.FunctionType)
            and '<locals>' in inner.__qualname__):
        return function
    held = [value for value in inspect.getclosurevars(inner).nonlocals.values()
            if inspect.isfunction(value)
            and value.__module__ == inner.__module__]
    return _decorated(held[0]) if len(held) == 1 else function


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

    def problem(self, read: _Read = signature_of) -> str | None:
        """Return what is wrong with the target in this Nova, or None.

        :param read: returns a signature, as :func:`signature_of` does.
        """
        name, found = self.found(read)
        if found is None:
            return None if self.absent else f'{self} does not exist'
        tested = self._tested()[name]
        if found not in tested:
            return (f'{self.module}:{name} has the signature ({found}) where '
                    f'({") or (".join(tested)}) was tested')
        return None

    def found(self, read: _Read = signature_of) -> tuple[str, str | None]:
        """Return the name that it has in this Nova, and the signature.

        The signature is None if it is not there by any name.
        """
        for name in self._tested():
            found = read(self.module, name)
            if found is not None:
                return name, found
        return self.name, None

    def owner(self) -> tuple[ty.Any, str]:
        """Return the class or module that holds the target, and its key.

        :raises AttributeError: if the owner does not exist.
        """
        return _owner(self.module, self.found()[0])

    def _tested(self) -> dict[str, list[str]]:
        tested = {self.name: [self.signature]}
        for form in self.others:
            tested.setdefault(form.name or self.name, []).append(
                form.signature or self.signature)
        return tested


class Change(ty.Protocol):
    """Something that a :class:`PatchSet` applies and undoes."""

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

        :raises ModuleNotFoundError, AttributeError, KeyError: if it is not
            there.
        """
        found = getattr(importlib.import_module(self.module), self.name)
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

    def problem(self) -> str | None:
        try:
            self.item.holder()[self.item.path[-1]]
        except (ModuleNotFoundError, AttributeError, KeyError):
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

    @property
    def patched(self) -> list[str]:
        """What is changed of Nova, without what is only checked."""
        return [str(change) for change in self.changes
                if type(change) is not Reliance]

    def check(self) -> None:
        """Check every target.

        :raises PatchMismatch: with a sentence for each that does not match.
        """
        problems = [problem for change in self.changes
                    if (problem := change.problem())]
        if problems:
            raise exceptions.PatchMismatch(problems)

    def install(self) -> None:
        """Make all changes.

        :raises PatchMismatch: if a target does not match; after this and any
            other error nothing is patched.
        """
        self.check()
        try:
            for change in self.changes:
                change.apply()
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Take everything back: the identical objects are in place again."""
        for change in reversed(self.changes):
            change.undo()
