# SPDX-License-Identifier: Apache-2.0

"""What Nova's build of a server does differently for a rebuild.

Nova's build starts an action with the name ``create``. A rebuild starts it as
``rebuild``, after the history has been copied. Otherwise a second ``create``
would be seen for a moment, and of two actions of the same second the wrong one
could be listed first.

Nova's build destroys the mapping of a server whose build request is gone,
because its owner must have deleted it. In a rebuild, somebody else may have
buried the server again.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import dataclasses
import typing as ty

from nova.compute import instance_actions

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects


_BringHistory = ty.Callable[['nova_context.RequestContext', str], None]


def _nothing(*args: ty.Any) -> None:
    """Have nothing to do."""


@dataclasses.dataclass(frozen=True)
class _Rebuild:
    """The rebuild that goes on in this context.

    :param instance_uuid: of its server; None if there is no rebuild.
    :param bring_history: copies the history of a server to the cell that a
        context is targeted at.
    :param check: is called before Nova destroys an instance mapping.
    """

    instance_uuid: str | None = None
    bring_history: _BringHistory = _nothing
    check: ty.Callable[[], None] = _nothing


_NONE = _Rebuild()
_rebuild: contextvars.ContextVar[_Rebuild] = contextvars.ContextVar(
    'cell0_rebuild_rebuild', default=_NONE)


@contextlib.contextmanager
def of_rebuild(
    instance_uuid: str, bring_history: _BringHistory
) -> collections.abc.Iterator[None]:
    """Let a build inside name its action ``rebuild``.

    :param bring_history: is called before an action starts, with its context
        and the server.
    """
    with _set(_Rebuild(instance_uuid, bring_history)):
        yield


@contextlib.contextmanager
def check_before_mapping_goes(
    check: ty.Callable[[], None]
) -> collections.abc.Iterator[None]:
    """Let a build inside check before it destroys a mapping.

    :param check: raises an error if the mapping must stay; the build ends
        with this error.
    """
    with _set(dataclasses.replace(_rebuild.get(), check=check)):
        yield


@contextlib.contextmanager
def _set(rebuild: _Rebuild) -> collections.abc.Iterator[None]:
    token = _rebuild.set(rebuild)
    try:
        yield
    finally:
        _rebuild.reset(token)


def action_start(
    wrapped: ty.Callable[..., ty.Any], cls: ty.Any,
    context: nova_context.RequestContext, instance_uuid: str, action_name: str,
    *args: ty.Any, **kwargs: ty.Any,
) -> ty.Any:
    """Wrap ``InstanceAction.action_start``."""
    rebuild = _rebuild.get()
    if (action_name == instance_actions.CREATE
            and rebuild.instance_uuid == instance_uuid):
        action_name = instance_actions.REBUILD
        rebuild.bring_history(context, instance_uuid)
    return wrapped(context, instance_uuid, action_name, *args, **kwargs)


def destroy_mapping(
    wrapped: ty.Callable[..., None], mapping: objects.InstanceMapping,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``InstanceMapping.destroy``."""
    _rebuild.get().check()
    wrapped(*args, **kwargs)
