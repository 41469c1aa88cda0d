# SPDX-License-Identifier: Apache-2.0

"""The instance mapping of a server whose rebuild becomes stale.

Nova's build destroys the mapping of a server whose build request is gone: its
owner must have deleted it. That of a rebuild may be gone because somebody else
has buried the server again.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import typing as ty

_check: contextvars.ContextVar[
    ty.Callable[[], None] | None] = contextvars.ContextVar(
    'cell0_rebuild_check', default=None)


@contextlib.contextmanager
def destroyed_after(
    check: ty.Callable[[], None]
) -> collections.abc.Iterator[None]:
    """Have a build that goes on inside check before it destroys a mapping.

    :param check: raises what the build is to end with if it must not.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def destroy(
    wrapped: ty.Callable[..., None], mapping: ty.Any, *args: ty.Any,
    **kwargs: ty.Any,
) -> None:
    """Wrap ``InstanceMapping.destroy``."""
    check = _check.get()
    if check is not None:
        check()
    wrapped(*args, **kwargs)
