# SPDX-License-Identifier: Apache-2.0

"""Rows in the cells of a server that is deleted on its way.

Without its build request the server never comes back, so a database that is
down does not stop the delete. Its conductor, or :mod:`recovery`, removes the
rows there later.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from nova import objects
from oslo_db import exception as db_exc
from oslo_log import log as logging

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import cell_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)


def sweep(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Remove the rows of a server that its owner has deleted on its way.

    Nova looks only in the cell that the server is mapped to. Before its
    conductor maps it, there is none.

    :param instance: of its build request, with the record.
    """
    for cell in _reached(context, instance):
        with left_to_others(instance.uuid):
            cell_db.delete(context, instance.uuid, cell)
    with left_to_others(instance.uuid):
        attempts.clear(context, instance.uuid)


def sweep_cell0(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Remove the row in cell0 of a server that was deleted in its cell."""
    with left_to_others(instance_uuid):
        attempts.remove_cell0_row(context, instance_uuid)


@contextlib.contextmanager
def left_to_others(instance_uuid: str) -> collections.abc.Iterator[None]:
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
    context: nova_context.RequestContext, instance: objects.Instance
) -> list[objects.CellMapping]:
    """Return the real cells that a conductor may have created it in."""
    reached = _known(instance)
    if reached == []:
        return []
    return [cell for cell in objects.CellMappingList.get_all(context)
            if not cell.is_cell0()
            and (reached is None or cell.uuid in reached)]


def _known(instance: objects.Instance) -> list[str] | None:
    try:
        found = attempt_record.of(instance)
    except exceptions.Unreadable:
        return None
    return [] if found is None or found.taken_by is None else found.cells
