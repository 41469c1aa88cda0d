# SPDX-License-Identifier: Apache-2.0

"""The steps of a move in the API database whose server is mapped to a cell.

Likewise a transaction and a winner each; see :mod:`api_db`, which has the
steps of a server on its way.
"""

from __future__ import annotations

import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models

from cell0_rebuild import db_errors
from cell0_rebuild.move import journal
from cell0_rebuild.move import lock
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context


@db_errors.retried
@api_db_api.context_manager.writer
def remap(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, old: int, new: int,
) -> bool:
    """Map the server of an attempt to another cell.

    :returns: False if it is not mapped to the old one, is deleted, or
        somebody else has the attempt.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is None or found.cell_id != old:
        return False
    found.write(context)
    return found.map_to(context, new)


@db_errors.retried
@api_db_api.context_manager.writer
def leave_cell(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell0_id: int, cell_id: int,
    has_left: ty.Callable[[], bool],
) -> bool:
    """Leave a server in cell0 if it has no row in a real cell any more.

    Otherwise it is mapped back to that cell. Nobody can drop the entry in
    between, which would leave the mapping at a row that is not there.

    :param has_left: removes the row and tells whether it is gone; called again
        if the transaction is tried again.
    :returns: False also if somebody else has moved the server.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is None or found.cell_id != cell0_id or (
            found.build_request_id is not None):
        return False
    if has_left():
        return True
    found.map_back(context, cell_id)
    return False


@db_errors.retried
@api_db_api.context_manager.writer
def map_back(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell0_id: int, cell_id: int,
) -> None:
    """Map a server that is in cell0 to the real cell that has it.

    Also if its owner has deleted it in cell0: that is to be completed there.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is not None and found.cell_id == cell0_id:
        found.write(context)
        found.map_back(context, cell_id)


@db_errors.retried
@api_db_api.context_manager.writer
def forget(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell_id: int,
) -> None:
    """Remove all that is kept of a server that a compute has.

    :param cell_id: only if it is mapped there.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is not None and found.cell_id == cell_id:
        found.forget(context)


@db_errors.retried
@api_db_api.context_manager.writer
def clear_cells(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, gone: ty.Iterable[str],
) -> None:
    """Note that there is no row of a server in real cells any more.

    :param gone: the UUIDs of these cells.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is not None and found.entry is not None:
        found.entry.cells = sorted({*found.entry.cells} - {*gone})
        found.write(context)


@db_errors.retried
@api_db_api.context_manager.writer
def leave(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry,
) -> None:
    """End an attempt whose server is buried.

    Its entry stays as long as there may be a row in a real cell.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is not None and found.entry is not None and not (
            found.is_on_its_way or found.entry.cells) and (
                found.entry.attempt == mine.attempt):
        found.entry = None
        found.write(context)


@api_db_api.context_manager.writer
def touch(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell_id: int,
) -> None:
    """Make an attempt young that has reached a real cell."""
    found = lock.held(context, instance_uuid, mine)
    if found is not None and found.cell_id == cell_id:
        found.write(context)
        found.touch(context)


@db_errors.retried
@api_db_api.context_manager.writer
def erase(context: nova_context.RequestContext, instance_uuid: str) -> None:
    """Delete the mapping and RequestSpec of a server deleted on its way.

    Nova archives them with the server's row in a cell, and there is none.
    """
    mapping, spec = api_models.InstanceMapping, api_models.RequestSpec
    here = {'instance_uuid': instance_uuid}
    if context.session.query(
            api_models.BuildRequest.id).filter_by(**here).first():
        return
    context.session.query(mapping).filter_by(cell_id=None, **here).delete(
        synchronize_session=False)
    if context.session.query(mapping.id).filter_by(**here).first():
        return
    context.session.query(spec).filter_by(**here).filter(
        retained_db.is_in(spec.spec)).delete(synchronize_session=False)
