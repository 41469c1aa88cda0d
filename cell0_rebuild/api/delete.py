# SPDX-License-Identifier: Apache-2.0

"""Delete a server that is on its way out of cell0, or has just left it."""

from __future__ import annotations

import contextlib
import functools
import typing as ty

from nova.compute import vm_states
from nova import exception
from oslo_config import cfg
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import deletion
from cell0_rebuild.move import location
from cell0_rebuild.move import volume_flags

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context
    from nova import objects

# What Nova fails with when it asks a server for the cell, and it is in none.
_NO_CELL = "'NoneType' object has no attribute 'identity'"


class _BuildRequestGone(Exception):
    """The build request that the server was read from is gone."""


def delete(
    wrapped: ty.Callable[..., None], compute_api: compute.API,
    context: nova_context.RequestContext, instance: objects.Instance,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``API._delete``: a rebuild may have moved the server meanwhile.

    Nova takes a server whose row is gone for deleted. It fails on a server
    that was read in a cell and is in no cell now.
    """
    is_booting = _is_booting(context, instance)
    uuid, buried = instance.uuid, is_booting or _is_like_buried(
        context, instance)
    # Nova has targeted it at the cell that the server was read in.
    is_in_cell0 = buried and cells.is_cell0(context)
    try:
        go_on = functools.partial(
            wrapped, context, instance, *args, **kwargs)
        if is_in_cell0:
            _delete_in_cell0(go_on, context, instance)
        else:
            go_on()
        # A rebuild that has hidden the row may have made another.
        if not buried or (instance.deleted and not instance.hidden):
            return
        if is_booting and not location.is_in_cell0(context, uuid):
            return
    except _BuildRequestGone:
        pass
    except (AttributeError, db_exc.DBReferenceError) as error:
        if not buried or not _tells_of_move(error):
            raise
    # The rebuild may end just then, and the server be in a cell again.
    while (moved := _moved(compute_api, context, uuid)) is not None:
        with contextlib.suppress(_BuildRequestGone):
            wrapped(context, moved, *args, **kwargs)
            # Its way back may have been cut short.
            deletion.sweep_cells(context, uuid)
            return


def _delete_in_cell0(
    go_on: ty.Callable[[], None], context: nova_context.RequestContext,
    instance: objects.Instance,
) -> None:
    """Delete a server if it is in cell0 still, and keep rebuilds from it.

    Nova would delete the ports that a compute has bound meanwhile.
    """
    if instance.disable_terminate or deletion.begin(context, instance.uuid):
        go_on()
        deletion.sweep_cells(context, instance.uuid)


def _tells_of_move(error: Exception) -> bool:
    """Tell whether Nova fails so because the server has left its cell.

    If not because it was in no cell, Nova has written to what belonged to the
    row there.
    """
    return isinstance(error, db_exc.DBReferenceError) or (
        str(error) == _NO_CELL)


def _is_like_buried(
    context: nova_context.RequestContext, instance: objects.Instance
) -> bool:
    """Tell whether it was read in a cell and no compute has ever had it.

    A server in BUILD counts only in cell0: one that boots in its cell is in
    BUILD, too.
    """
    return (_has_never_had_a_host(instance)
            and instance.vm_state in cfg.CONF.cell0_rebuild.vm_states
            # Nova has targeted the context at the cell that it was read in.
            and (instance.vm_state != vm_states.BUILDING
                 or cells.is_cell0(context)))


def _is_booting(
    context: nova_context.RequestContext, instance: objects.Instance
) -> bool:
    """Tell whether it was read in its cell, and may fail and be buried."""
    return (cfg.CONF.cell0_rebuild.rebuild != 'buried'
            and _has_never_had_a_host(instance)
            and instance.vm_state == vm_states.BUILDING
            and not cells.is_cell0(context))


def _has_never_had_a_host(instance: objects.Instance) -> bool:
    return ('id' in instance and instance.host is None
            and instance.launched_at is None)


def _moved(
    compute_api: compute.API, context: nova_context.RequestContext, uuid: str,
) -> objects.Instance | None:
    """Return the server from where it is now; None if it is deleted."""
    while (place := location.place(context, uuid)) is not None:
        try:
            return compute_api.get(context, uuid)
        except exception.InstanceNotFound:
            if location.place(context, uuid) == place:
                break
    return None


def delete_while_booting(
    wrapped: ty.Callable[..., bool], compute_api: compute.API,
    context: nova_context.RequestContext, instance: objects.Instance,
) -> bool:
    """Wrap ``API._delete_while_booting``: the row in cell0 goes as well.

    :raises _BuildRequestGone: if the build request is gone. Nova would delete
        only the row in the cell, even if a compute now has the server and its
        ports.
    """
    ours = attempts.is_on_its_way(instance)
    # Then it was read from a cell, where it has no record. It has a build
    # request if it was moved out of cell0 since.
    in_cell = 'id' in instance
    if ours or in_cell:
        volume_flags.settle(context, instance.uuid)
    if ours:
        if not _delete_build_request(wrapped, context, instance):
            raise _BuildRequestGone
        deletion.sweep(context, instance)
        return True
    deleted = wrapped(context, instance)
    if deleted and in_cell:
        deletion.sweep_cell0(context, instance.uuid)
    return deleted


def _delete_build_request(
    wrapped: ty.Callable[..., bool], context: nova_context.RequestContext,
    instance: objects.Instance,
) -> bool:
    try:
        return wrapped(context, instance)
    except db_exc.DBError as error:
        # Nova looks for the row of a server in no cell in [database].
        if not location.is_abandoned(context, instance.uuid):
            raise
        deletion.tell(instance.uuid, error)
        return True
