# SPDX-License-Identifier: Apache-2.0

"""The action of a rebuild in the event list of its server.

Nova's build starts an action with the name ``create``. For a rebuild it is
started as ``rebuild``, behind the history: renamed or copied later, a second
``create`` would be seen for a moment, and of actions that are started in the
same second the wrong one could be listed first.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import typing as ty

from nova.compute import instance_actions

from cell0_rebuild.move import actions
from cell0_rebuild.move import cells

_rebuilt: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    'cell0_rebuild_rebuilt', default=None)


@contextlib.contextmanager
def of_rebuild(instance_uuid: str) -> collections.abc.Iterator[None]:
    """Name the action of a build that goes on inside ``rebuild``."""
    token = _rebuilt.set(instance_uuid)
    try:
        yield
    finally:
        _rebuilt.reset(token)


def action_start(
    wrapped: ty.Callable[..., ty.Any], cls: ty.Any, context: ty.Any,
    instance_uuid: str, action_name: str, *args: ty.Any, **kwargs: ty.Any,
) -> ty.Any:
    """Wrap ``InstanceAction.action_start``."""
    if (action_name == instance_actions.CREATE
            and _rebuilt.get() == instance_uuid):
        action_name = instance_actions.REBUILD
        # Does nothing in cell0 itself, where the history is.
        actions.copy(cells.targeted(context, cells.cell0(context)), context,
                     instance_uuid)
    return wrapped(context, instance_uuid, action_name, *args, **kwargs)
