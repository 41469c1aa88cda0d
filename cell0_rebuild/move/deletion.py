# SPDX-License-Identifier: Apache-2.0

"""A server that its owner deletes on its way: what is left of it.

:func:`begin`                         nova-api, before it deletes it in cell0
:func:`sweep`, :func:`sweep_cell0`,
:func:`sweep_cells`                   nova-api, when it has deleted it
:func:`clear`, :func:`erase`          whoever then finds it deleted
:func:`complete`                      at the end of the hand-over

Without its build request the server never comes back, so a database that is
down does not stop the delete. Its conductor, or :mod:`recovery`, removes the
rows there later.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from nova.compute import api as nova_compute_api
from nova import exception
from nova import objects
from oslo_context import context as oslo_context
from oslo_db import exception as db_exc
from oslo_log import log as logging

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)


def begin(context: nova_context.RequestContext, instance_uuid: str) -> bool:
    """Keep rebuilds from a buried server; see :func:`cell0_db.begin_delete`.
    """
    return bool(cell0_db.begin_delete(context, instance_uuid))


def sweep(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Remove the rows of a server that its owner has deleted on its way.

    Nova looks only in the cell that the server is mapped to. Before its
    conductor maps it, there is none.

    :param instance: of its build request.
    """
    found: list[objects.CellMapping] = []
    with _left_to_others(instance.uuid):
        found = _reached(context, instance.uuid)
    for cell in found:
        with _left_to_others(instance.uuid):
            cell_db.delete(context, instance.uuid, cell)
    with _left_to_others(instance.uuid):
        clear(context, instance.uuid)


def sweep_cell0(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Remove the row in cell0 of a server that was deleted in its cell."""
    with _left_to_others(instance_uuid):
        remove_cell0_row(context, instance_uuid)


def sweep_cells(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Remove the rows in real cells of a server that was deleted in cell0.

    There are some if its burial has not ended, or could not reach them. Nova's
    lists would show them.
    """
    with _left_to_others(instance_uuid):
        place = location.place(context, instance_uuid)
        if place is None or place.entry is None or not (
                place.in_cell0 and place.is_deleted):
            return
        for cell in _real_cells(context, place.entry.cells):
            # Who buries it ends the delete where a compute has it.
            with contextlib.suppress(exception.ObjectActionError):
                cell_db.remove(context, instance_uuid, cell)


@contextlib.contextmanager
def _left_to_others(instance_uuid: str) -> collections.abc.Iterator[None]:
    """Log an error of a database, and leave the rows there."""
    try:
        yield
    except db_exc.DBError as error:
        tell(instance_uuid, error)


def tell(instance_uuid: str, error: Exception) -> None:
    """Log that rows of a deleted server are left."""
    db_errors.without_values(error)
    LOG.warning('The server is deleted, and a database does not answer. What '
                'is there of it is left to its nova-conductor, or to '
                '"cell0-rebuild-manage recover": %s', error,
                instance_uuid=instance_uuid)


def _reached(
    context: nova_context.RequestContext, instance_uuid: str
) -> list[objects.CellMapping]:
    """Return the real cells that may have a row of the server."""
    reached = None
    with contextlib.suppress(exceptions.Unreadable):
        entry = api_db.entry(context, instance_uuid)
        # Nobody knows if a service without this package has dropped it.
        reached = None if entry is None else entry.cells
    return _real_cells(context, reached)


def _real_cells(
    context: nova_context.RequestContext, uuids: list[str] | None
) -> list[objects.CellMapping]:
    if uuids == []:
        return []
    return [cell for cell in cells.real(context)
            if uuids is None or cell.uuid in uuids]


def clear(context: nova_context.RequestContext, instance_uuid: str) -> bool:
    """Remove the row in cell0 of a server that its owner deleted.

    :returns: False if the owner did not.
    """
    def abandoned() -> bool:
        return location.is_abandoned(context, instance_uuid)

    if not abandoned():
        return False
    cell0_db.remove(cells.in_cell0(context), instance_uuid, abandoned)
    return True


def erase(context: nova_context.RequestContext, instance_uuid: str) -> None:
    """Remove all that is left of a server that its owner deleted on its way.

    The RequestSpec goes last, because a recovery finds the server by it.
    """
    if clear(context, instance_uuid):
        mapped_db.erase(context, instance_uuid)


def remove_cell_row(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping, place: location.Place | None,
    row_id: int | None = None,
) -> bool:
    """Remove the row in a real cell of a server that its owner deleted.

    Where it is mapped to, its row stays soft-deleted, as Nova leaves it: Nova
    archives the mapping only with one. A DELETE that has read the server in
    cell0 does not look there.

    :param place: where it is.
    :param row_id: only this row, in a cell that it is not mapped to.
    :returns: False if there was none to remove for good.
    :raises ObjectActionError: if a compute has it.
    """
    if place is not None and place.cell_id == cell.id:
        cell_db.delete(context, instance_uuid, cell)
        return True
    return cell_db.remove(context, instance_uuid, cell, row_id)


def remove_cell0_row(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Remove the row in cell0."""
    cell0_db.remove(cells.in_cell0(context), instance_uuid)


def complete(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Delete a server where it is now, as ``API.delete`` does.

    Its owner deleted it in cell0 during the hand-over to a real cell. That
    request deletes only the row in cell0, unless its nova-api has this package
    and lives long enough to look again.

    :param context: of the rebuild or of a recovery. nova-api has already
        decided that the server may be deleted, locked or not.
    :param cell: the real cell that the server is in.
    """
    cctxt = cells.targeted(context.elevated(), cell)
    # A compute may be at work for that of the rebuild, and finds its action
    # by it.
    cctxt.request_id = oslo_context.generate_request_id()
    with contextlib.suppress(exception.InstanceNotFound):
        instance = objects.Instance.get_by_uuid(cctxt, instance_uuid)
        LOG.warning('The server was deleted in cell0 while it was handed over '
                    'to a cell; it is deleted there as well.',
                    instance=instance)
        nova_compute_api.API().delete(cctxt, instance)
