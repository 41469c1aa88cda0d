# SPDX-License-Identifier: Apache-2.0

"""What Nova's build of a server does differently for a rebuild.

Nova's build starts an action with the name ``create``. For a rebuild it is
started as ``rebuild``, behind the history: renamed or copied later, a second
``create`` would be seen for a moment, and of actions that are started in the
same second the wrong one could be listed first.

Nova's build destroys the mapping of a server whose build request is gone: its
owner must have deleted it. That of a rebuild may be gone because somebody else
has buried the server again.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import dataclasses
import typing as ty

from nova.compute import instance_actions

from cell0_rebuild.move import actions
from cell0_rebuild.move import cells

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects


def _nothing() -> None:
    """Have nothing to check."""


@dataclasses.dataclass(frozen=True)
class _Rebuild:
    """The rebuild that goes on in this context.

    :param instance_uuid: of its server; None if there is no rebuild.
    :param check: is called before Nova destroys an instance mapping.
    """

    instance_uuid: str | None = None
    check: ty.Callable[[], None] = _nothing


_NONE = _Rebuild()
_rebuild: contextvars.ContextVar[_Rebuild] = contextvars.ContextVar(
    'cell0_rebuild_rebuild', default=_NONE)


@contextlib.contextmanager
def of_rebuild(instance_uuid: str) -> collections.abc.Iterator[None]:
    """Name the action of a build that goes on inside ``rebuild``."""
    with _set(_Rebuild(instance_uuid)):
        yield


@contextlib.contextmanager
def check_before_mapping_goes(
    check: ty.Callable[[], None]
) -> collections.abc.Iterator[None]:
    """Check before a build that goes on inside destroys a mapping.

    :param check: raises what the build is to end with if it must not.
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
    if (action_name == instance_actions.CREATE
            and _rebuild.get().instance_uuid == instance_uuid):
        action_name = instance_actions.REBUILD
        # Does nothing in cell0 itself, where the history is.
        actions.copy(cells.targeted(context, cells.cell0(context)), context,
                     instance_uuid)
    return wrapped(context, instance_uuid, action_name, *args, **kwargs)


def destroy_mapping(
    wrapped: ty.Callable[..., None], mapping: objects.InstanceMapping,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``InstanceMapping.destroy``."""
    _rebuild.get().check()
    wrapped(*args, **kwargs)
