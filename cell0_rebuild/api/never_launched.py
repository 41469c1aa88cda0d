# SPDX-License-Identifier: Apache-2.0

"""What owners are told of a server that failed after it had found a host."""

from __future__ import annotations

import typing as ty

from nova.compute import vm_states
from oslo_config import cfg

from cell0_rebuild.api import errors
from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.failed import records
from cell0_rebuild.failed import verdict

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

_ASK = ('It can be rebuilt when an operator has buried it with '
        '"cell0-rebuild-manage bury"')


def refuse(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Say why a server that never ran cannot be rebuilt, and what to do.

    Nova refuses it, too, and says only that its state is invalid.

    :param context: targeted at the cell that the instance was read in.
    :raises HTTPConflict: with the reason, in a cloud with "rebuild =
        never_launched".
    """
    if cfg.CONF.cell0_rebuild.rebuild != 'never_launched' or (
            instance.launched_at is not None or instance.host is not None
            or instance.task_state is not None
            or instance.vm_state != vm_states.ERROR
            or cells.is_cell0(context)):
        return
    with errors.translated():
        try:
            reason = verdict.why_not(
                records.read(context, instance.uuid).known)
        except records.NotFailed:
            # It is moved or deleted just now.
            return
        except exceptions.Unreadable as error:
            reason = str(error).rstrip('.')
    errors.conflict(
        f'Server {instance.uuid} never ran, and is not buried in cell0. '
        f'{reason or _ASK}.')
