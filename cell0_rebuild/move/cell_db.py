# SPDX-License-Identifier: Apache-2.0

"""The row that Nova creates in a real cell for a server on its way.

Its ID tells it from a row that another attempt has created there for the
same server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import typing as ty

from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild.move import builds
from cell0_rebuild.move import instance_row

if ty.TYPE_CHECKING:
    from nova import context as nova_context

_Keep = ty.Callable[[dict[str, ty.Any]], None]


@dataclasses.dataclass(frozen=True)
class Row:
    """What must be known of a server's row.

    :param deleted: its owner deleted it; the row stays until it is archived.
    :param touched: when it was written last.
    """

    id: int
    deleted: bool
    hidden: bool
    task_state: str | None
    host: str | None
    launched: bool
    touched: datetime.datetime

    @property
    def is_on_host(self) -> bool:
        """Whether a compute has, or had, the server."""
        return self.host is not None or self.launched


@main_db_api.pick_context_manager_reader
def _find(
    context: nova_context.RequestContext, instance_uuid: str
) -> Row | None:
    # The row of a deleted server counts as well.
    row = context.session.query(
        models.Instance.id, models.Instance.deleted, models.Instance.hidden,
        models.Instance.task_state, models.Instance.host,
        models.Instance.launched_at, models.Instance.created_at,
        models.Instance.updated_at,
    ).filter_by(uuid=instance_uuid).first()
    if row is None:
        return None
    return Row(
        row.id, bool(row.deleted), bool(row.hidden), row.task_state, row.host,
        row.launched_at is not None, row.updated_at or row.created_at)


def find(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> Row | None:
    """Return the row of a server in a cell."""
    found: Row | None = _find(cells.targeted(context, cell), instance_uuid)
    return found


def watched(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> dict[str, ty.Any]:
    """Return what is watched of a row; nothing if it is not there."""
    row: instance_row.Watched | None = instance_row.look(
        cells.targeted(context, cell), instance_uuid)
    return {} if row is None else row.values


def show_as(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping, vm_state: str,
) -> None:
    """Show a row that no compute has as the row in cell0 is shown."""
    _update(cells.targeted(context, cell), instance_uuid,
            {'vm_state': vm_state}, launched_at=None)


def hide(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping, row_id: int,
) -> None:
    """Hide a row that no compute has."""
    _update(cells.targeted(context, cell), instance_uuid,
            instance_row.hidden(True), id=row_id)


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _update(
    context: nova_context.RequestContext, instance_uuid: str,
    values: dict[str, ty.Any], **conditions: ty.Any,
) -> None:
    context.session.query(models.Instance).filter_by(
        uuid=instance_uuid, deleted=0, host=None, **conditions,
    ).update(values, synchronize_session=False)


def remove(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping, row_id: int | None = None,
    keep: _Keep | None = None, unless_deleted: bool = False,
    in_cell0: builds.Builds | None = None,
) -> bool:
    """Delete a server that never got a host from a real cell, for good.

    A soft-deleted row would let ``nova-manage db archive_deleted_rows``
    remove the mapping and the RequestSpec of the server.

    :param row_id: only this row.
    :param keep: is called with what was watched of the row when it went, while
        it is locked still; called again if the transaction is tried again.
    :param unless_deleted: leave the row of a server that its owner deleted.
    :param in_cell0: leave the row if what cell0 knows of its builds tells that
        a compute has had the server.
    :returns: False if it was not there, or is left.
    :raises ObjectActionError: if a compute has the server.
    """
    try:
        _destroy(cells.targeted(context, cell), instance_uuid, row_id, keep,
                 unless_deleted, in_cell0)
    except exception.InstanceNotFound:
        return False
    except exception.ConstraintNotMet as error:
        row = find(context, instance_uuid, cell)
        if row_id is not None and row is not None and row.id != row_id:
            return False
        raise on_host() from error
    return True


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _destroy(
    context: nova_context.RequestContext, instance_uuid: str,
    row_id: int | None, keep: _Keep | None, unless_deleted: bool,
    in_cell0: builds.Builds | None,
) -> None:
    # An update comes before, or finds no row.
    last = instance_row.read(context, instance_uuid, is_locked=True)
    if unless_deleted and last is not None and last.deleted:
        raise exception.InstanceNotFound(instance_id=instance_uuid)
    if in_cell0 is not None and builds.has_to_stay(
            builds.read(context, instance_uuid), in_cell0):
        raise exception.ConstraintNotMet()
    # Not Instance.destroy: it looks at the host that it has read.
    instance_row.destroy(
        context, instance_uuid, **({} if row_id is None else {'id': row_id}))
    if keep is not None and last is not None:
        keep(last.values)


def delete(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Delete the row of a server whose owner has deleted its build request.

    It stays soft-deleted, as Nova leaves it.
    """
    row = find(context, instance_uuid, cell)
    if row is None or row.deleted or row.is_on_host:
        return
    # The conductor, if it lives, does the same.
    with contextlib.suppress(exception.InstanceNotFound):
        objects.Instance.get_by_uuid(
            cells.targeted(context, cell), instance_uuid,
            expected_attrs=[]).destroy()


def delete_volumes(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Delete the volumes of a server that was deleted before it had them.

    So does ``ComputeTaskManager._delete_build_request``.
    """
    for bdm in objects.BlockDeviceMappingList.get_by_instance_uuid(
            cells.targeted(context, cell), instance_uuid):
        bdm.destroy()


def on_host() -> Exception:
    """Return what is raised for a server that a compute has."""
    error: Exception = exception.ObjectActionError(
        action='bury', reason='a compute has the server')
    return error
