# SPDX-License-Identifier: Apache-2.0

"""What a server that is deleted on its way leaves in the cells.

Without its build request it never comes back, so a database that is down need
not keep it from being deleted. What is there is left to its conductor, or to
:mod:`recovery`.
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

    Nova looks for one in the cell that the server is mapped to, which is none
    before its conductor says so.

    :param instance: of its build request, with the mark.
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
    """Leave what a database that is down has of a deleted server."""
    try:
        yield
    except db_exc.DBError as error:
        tell(instance_uuid, error)


def tell(instance_uuid: str, error: Exception) -> None:
    """Tell of what is left of a deleted server."""
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
