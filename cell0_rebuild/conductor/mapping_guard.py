# SPDX-License-Identifier: Apache-2.0

"""Nova's build may destroy the mapping of a server only if it was deleted.

Nova's build destroys the mapping of a server whose build request is gone,
because its owner must have deleted it. In a rebuild, somebody else may have
buried the server again.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import typing as ty

if ty.TYPE_CHECKING:
    from nova import objects


def _nothing() -> None:
    """Have nothing to check: there is no rebuild."""


_check: contextvars.ContextVar[ty.Callable[[], None]] = contextvars.ContextVar(
    'cell0_rebuild_check', default=_nothing)


@contextlib.contextmanager
def checked(check: ty.Callable[[], None]) -> collections.abc.Iterator[None]:
    """Let a build inside check before it destroys a mapping.

    :param check: raises an error if the mapping must stay; the build ends
        with this error.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def destroy(
    wrapped: ty.Callable[..., None], mapping: objects.InstanceMapping,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``InstanceMapping.destroy``."""
    _check.get()()
    wrapped(*args, **kwargs)
