# SPDX-License-Identifier: Apache-2.0

"""An attempt that has failed: its server goes back to cell0.

:func:`bury_again` takes it from wherever the attempt brought it.
"""

from __future__ import annotations

import contextlib
import functools
import typing as ty

from nova.compute import vm_states
from nova import exception
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild.move import actions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import builds
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

    from cell0_rebuild.move import journal
    _Step = ty.Callable[[nova_context.RequestContext], None]


def bury_again(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None = None,
    record_failure: _Step | None = None, notify: _Step | None = None,
) -> bool:
    """Take a server back to cell0, from wherever the attempt brought it.

    It can be called again when a database failed in the middle of it.

    :param cell: the real cell in which Nova may have created it, or None.
    :param record_failure: is called with a context targeted at cell0; after it
        the server shows ERROR there. Without it nothing tells afterwards that
        there was an attempt.
    :param notify: is called likewise after it, when the lock on the server is
        released: it may have to wait.
    :returns: False if it was not buried: the owner deleted the server
        meanwhile, or somebody else has moved it.
    :raises ObjectActionError: if a compute has the server; nothing is changed
        then.
    """
    place = location.place(context, attempt.uuid)
    if place is None or place.is_abandoned:
        _remove_rows(context, attempt, cell, place)
        return False
    in_cell0 = cells.in_cell0(context)
    _prepare(context, in_cell0, attempt, cell, record_failure)
    if notify is not None and attempt.recorded and not attempt.notified:
        notify(in_cell0)
        attempt.notified = True
    is_ours = place.is_held_by(attempt.entry)
    if place.cell_id is None or (place.is_buried and not is_ours):
        buried = _end_build_request(context, in_cell0, attempt, cell)
    else:
        buried = _leave_cell(context, in_cell0, attempt, cell) and show(
            context, attempt.uuid, attempt.entry)
        if not is_ours and cell is not None and place.cell_id != cell.id:
            _remove_known_row(context, attempt, cell)
    if buried:
        mapped_db.leave(context, attempt.uuid, attempt.entry)
    else:
        deletion.clear(context, attempt.uuid)
    return buried


def _end_build_request(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> bool:
    """Bury a server that is on its way."""
    def keep(last: objects.Instance) -> None:
        late_changes.keep_changes(
            in_cell0, attempt.entry, attempt.bdms, last)
        cell0_db.show(in_cell0, attempt.uuid)

    buried = bool(api_db.to_cell0(
        context, attempt.uuid, attempt.entry, cells.cell0(context).id, keep))
    if buried:
        # Nova writes to [database], which may be that cell, that a volume of
        # a server in no cell is to stay. The row may be of an earlier attempt.
        attempt.row_watched = late_changes.going(attempt.entry.baseline)
    if cell is not None:
        _remove_row(context, in_cell0, attempt, cell)
    return buried


def show(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry | None = None,
) -> bool:
    """Let a rebuild begin, unless a later attempt has.

    :param mine: the attempt that ends; None if it had ended before.
    :returns: whether the server is buried, and nobody else works on it.
    """
    with location.held(context, instance_uuid):
        place = location.place(context, instance_uuid)
        # A service without this package may have dropped the entry.
        is_ours = place is not None and place.is_buried and (
            place.entry is None
            or (mine is not None and place.is_held_by(mine)))
        if is_ours:
            cell0_db.show(cells.in_cell0(context), instance_uuid)
    return is_ours


def _remove_row(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> None:
    with location.at_rest(context, attempt.uuid) as is_at_rest:
        if is_at_rest:
            cell_db.remove(
                context, attempt.uuid, cell,
                keep=functools.partial(_keep_last, in_cell0, attempt))
            mapped_db.clear_cells(
                context, attempt.uuid, attempt.entry, [cell.uuid])
        else:
            _remove_known_row(context, attempt, cell)


def _remove_known_row(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> None:
    if attempt.row_id is not None:
        # A later attempt may have created another.
        attempts.remove_row(context, attempt, cell, attempt.row_id)


def _keep_last(
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    last: dict[str, ty.Any],
) -> None:
    """Write to the row in cell0 what was changed in the cell at last."""
    late_changes.keep_last(in_cell0, attempt.uuid, attempt.row_watched, last)
    attempt.row_watched = last


def _prepare(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None, record_failure: _Step | None,
) -> None:
    """Give the row in cell0 what was changed, and record the failure.

    What was changed on a build request is written when that ends.

    :raises ObjectActionError: if a compute has the server.
    """
    shown_as = cell0_db.vm_state(in_cell0, attempt.uuid)
    with location.held(context, attempt.uuid):
        place = location.place(context, attempt.uuid)
        if place is None or not _is_ours(context, attempt, place):
            return
        if cell is not None:
            _know_row(context, attempt, cell, place)
        if shown_as is None:
            return
        if place.cell_id is None:
            _hide_row(context, attempt, cell)
        elif not place.in_cell0:
            _keep_changes(context, in_cell0, attempt, cell, shown_as)
        if record_failure is not None and not attempt.recorded:
            actions.record_failure(in_cell0, attempt.uuid, record_failure)
            attempt.recorded = True


def _keep_changes(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping, shown_as: str,
) -> None:
    """Give the row in cell0 what was changed in the cell.

    :raises ObjectActionError: if a compute had the server.
    """
    if builds.has_to_stay(
            builds.read(cells.targeted(context, cell), attempt.uuid),
            builds.read(in_cell0, attempt.uuid)):
        raise cell_db.on_host()
    if shown_as != vm_states.DELETED:
        # Lists show this row until it has gone, and GET the other.
        cell_db.show_as(context, attempt.uuid, cell, shown_as)
    attempt.row_watched = cell_db.watched(context, attempt.uuid, cell)
    late_changes.keep_changes(
        in_cell0, attempt.entry, attempt.bdms, attempt.instance,
        attempt.row_watched)


def _is_ours(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    place: location.Place,
) -> bool:
    """Tell whether nobody else has moved the server, or works on it."""
    if place.cell_id is None:
        return bool(api_db.is_current(
            context, attempt.uuid, attempt.entry, or_unreadable=True))
    if not place.is_held_by(attempt.entry):
        return False
    attempt.entry = place.entry or attempt.entry
    return True


def _know_row(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping, place: location.Place,
) -> None:
    """Know the row that is to be removed.

    :raises ObjectActionError: if a compute has the server there.
    """
    if place.cell_id is None:
        if attempt.row_id is None:
            # One that is not known can be removed only while the server is
            # at rest.
            with contextlib.suppress(db_exc.DBError):
                row = cell_db.find(context, attempt.uuid, cell)
                attempt.row_id = None if row is None else row.id
    elif not place.in_cell0:
        row = cell_db.find(context, attempt.uuid, cell)
        if row is not None and row.is_on_host:
            raise cell_db.on_host()


def _hide_row(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> None:
    """Have no list show the row in the real cell when there is another.

    The process may die before it has removed the row, or the cell be down.
    """
    if cell is None or attempt.row_id is None:
        return
    with contextlib.suppress(db_exc.DBError):
        cell_db.hide(context, attempt.uuid, cell, attempt.row_id)


def _remove_rows(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None, place: location.Place | None,
) -> None:
    """Remove what the attempt has created of a server that is deleted."""
    if cell is not None:
        with contextlib.suppress(exception.ObjectActionError):
            if not deletion.remove_cell_row(
                    context, attempt.uuid, cell, place):
                cell_db.delete_volumes(context, attempt.uuid, cell)
    deletion.remove_cell0_row(context, attempt.uuid)


def _leave_cell(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> bool:
    """Take a server that was handed over out of the real cell.

    The mapping goes first: any other process at work on the server looks at it
    before it removes anything.

    :returns: False if the owner deleted it, or somebody else has moved it.
    """
    uuid, cell0 = attempt.uuid, cells.cell0(context)
    if cell is None:
        return _is_back(context, attempt)
    # A conductor that is stale now may just have removed the row in cell0.
    if cell0_db.is_there(in_cell0, uuid):
        mapped_db.remap(context, uuid, attempt.entry, cell.id, cell0.id)
    on_host = None

    def has_left() -> bool:
        nonlocal on_host
        try:
            return cell0_db.is_there(in_cell0, uuid) and _replace_row(
                context, in_cell0, attempt, cell)
        except exception.ObjectActionError as error:
            on_host = error
            return False

    if mapped_db.leave_cell(
            context, uuid, attempt.entry, cell0.id, cell.id, has_left):
        mapped_db.clear_cells(context, uuid, attempt.entry, [cell.uuid])
        return True
    if on_host is not None:
        raise on_host
    _end_delete(context, in_cell0, attempt, cell)
    return False


def _end_delete(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> None:
    if not attempts.is_in(context, attempt, cell) or not _is_deleted(
            context, in_cell0, attempt, cell):
        return
    place = location.place(context, attempt.uuid)
    # One that was deleted in cell0 alone is deleted in its cell by others.
    is_abandoned = place is None or place.is_abandoned
    _remove_rows(context, attempt, cell if is_abandoned else None, place)


def _replace_row(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Remove the row in the real cell when the one in cell0 is shown.

    Lists would miss the server in between. Of two rows Nova lists one.

    :returns: False if it is there still.
    :raises ObjectActionError: if a compute has the server.
    """
    uuid = attempt.uuid

    known = builds.read(in_cell0, uuid)

    def show_returning(last: dict[str, ty.Any]) -> None:
        cell0_db.show(in_cell0, uuid, is_returning=True)

    def keep(last: dict[str, ty.Any]) -> None:
        _keep_last(in_cell0, attempt, last)
        show_returning(last)
    return (
        cell_db.remove(context, uuid, cell, attempt.row_id, keep,
                       unless_deleted=True, in_cell0=known)
        # A stale conductor may have created another.
        or cell_db.remove(context, uuid, cell, keep=show_returning,
                          unless_deleted=True, in_cell0=known)
        or cell_db.find(context, uuid, cell) is None)


def _is_deleted(
    context: nova_context.RequestContext,
    in_cell0: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Tell whether its owner has deleted it, in its cell or in cell0."""
    row = cell_db.find(context, attempt.uuid, cell)
    return location.is_abandoned(context, attempt.uuid) or (
        cell0_db.vm_state(in_cell0, attempt.uuid) is None) or (
            row is not None and bool(row.deleted)
            and attempt.row_id in (None, row.id))


def _is_back(
    context: nova_context.RequestContext, attempt: attempts.Attempt
) -> bool:
    """Tell whether this attempt has mapped its server to cell0 again."""
    place = location.place(context, attempt.uuid)
    return (place is not None and place.is_buried
            and place.is_held_by(attempt.entry))
