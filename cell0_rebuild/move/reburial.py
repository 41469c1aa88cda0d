# SPDX-License-Identifier: Apache-2.0

"""An attempt that has failed: its server goes back to cell0.

:func:`bury_again` takes it from wherever the attempt brought it.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import typing as ty

from nova import exception
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild.move import actions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import stage as stages
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    _Step = ty.Callable[[nova_context.RequestContext], None]


def bury_again(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None = None,
    record_failure: _Step | None = None,
    before: datetime.datetime | None = None,
    notify: _Step | None = None,
) -> bool:
    """Take a server back to cell0, from wherever the attempt brought it.

    It can be called again when a database failed in the middle of it.

    :param cell: the real cell in which Nova may have created it, or None.
    :param record_failure: is called with a context targeted at cell0; after it
        the server shows ERROR there. Without it nothing tells afterwards that
        there was an attempt.
    :param notify: is called likewise after it, when the lock on the server is
        released: it may have to wait.
    :param before: a server that was handed over is buried only if nobody has
        worked on it since.
    :returns: False if it was not buried: the owner deleted the server
        meanwhile, or somebody else has moved it.
    :raises ObjectActionError: if a compute has the server; nothing is changed
        then.
    """
    if not _may_bury(context, attempt, cell):
        return False
    cell0 = cells.cell0(context)
    cctxt = cells.targeted(context, cell0)
    seen = _prepare(context, cctxt, attempt, cell, record_failure, before)
    if notify is not None and attempt.recorded and not attempt.notified:
        notify(cctxt)
        attempt.notified = True
    if attempt.handed_over:
        return (attempt.stage is stages.Stage.OUT_OF_CELL or _leave_cell(
            context, cctxt, attempt, cell, cell0, before)) and _show(
                context, cctxt, attempt)

    def keep(instance: objects.Instance) -> None:
        cell0_db.show(cctxt, attempt.uuid)
        late_changes.keep_late(cctxt, attempt.uuid, seen, instance)

    buried = bool(api_db.to_cell0(
        context, attempt.uuid, attempt.generation, cell0.id, keep,
        **({} if record_failure else attempt.record.mapping_before())))
    if cell is not None:
        _remove_row(context, cctxt, attempt, cell)
    if not buried:
        deletion.clear(context, attempt.uuid)
    return buried


def _show(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    attempt: attempts.Attempt,
) -> bool:
    """Show the row in cell0, unless a later attempt has hidden it."""
    with location.held(context, attempt.uuid):
        is_ours = location.is_in_cell0(context, attempt.uuid)
        if is_ours:
            cell0_db.show(cctxt, attempt.uuid)
    return is_ours


def _remove_row(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    attempt: attempts.Attempt, cell: objects.CellMapping,
) -> None:
    with location.at_rest(context, attempt.uuid) as is_at_rest:
        if is_at_rest:
            cell_db.remove(
                context, attempt.uuid, cell,
                keep=functools.partial(_keep_last, cctxt, attempt))
            retained_db.keep_left(context, attempt.uuid, fewer=[cell.uuid])
        elif attempt.row_id is not None:
            # A later attempt may have created another.
            attempts.remove_row(context, attempt, cell, attempt.row_id)


def _keep_last(
    cctxt: nova_context.RequestContext, attempt: attempts.Attempt,
    last: dict[str, ty.Any],
) -> None:
    """Write to the row in cell0 what was changed in the cell at last."""
    late_changes.write(
        cctxt, attempt.uuid, late_changes.changes(attempt.row_watched, last),
        attempt.row_watched)
    attempt.row_watched = last


def _prepare(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    attempt: attempts.Attempt, cell: objects.CellMapping | None,
    record_failure: _Step | None,
    before: datetime.datetime | None,
) -> dict[str, ty.Any]:
    """Give the row in cell0 what was changed, and record the failure."""
    seen: dict[str, ty.Any] = {}
    if cell0_db.is_deleted(cctxt, attempt.uuid):
        return seen
    with location.held(context, attempt.uuid):
        if _is_ours(context, attempt, cell, before):
            _know_row(context, attempt, cell)
            seen = _keep_changes(context, cctxt, attempt, cell)
            _hide_row(context, attempt, cell)
            if record_failure is not None:
                _record_failure(cctxt, attempt, record_failure)
    return seen


def _know_row(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> None:
    if cell is None or attempt.row_id is not None:
        return
    # One that is not known can be removed only while the server is at rest.
    with contextlib.suppress(db_exc.DBError):
        row = cell_db.find(context, attempt.uuid, cell)
        attempt.row_id = None if row is None else row.id


def _hide_row(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> None:
    """Have no list show the row in the real cell when there is another.

    The process may die before it has removed the row, or the cell be down.
    """
    if cell is None or attempt.row_id is None or attempt.handed_over:
        return
    with contextlib.suppress(db_exc.DBError):
        cell_db.hide(context, attempt.uuid, cell, attempt.row_id)


def _keep_changes(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    attempt: attempts.Attempt, cell: objects.CellMapping | None,
) -> dict[str, ty.Any]:
    if attempt.stage.is_mapped_back:
        # The row in cell0 has them, and whatever was changed after that.
        return {}
    try:
        last = objects.BuildRequest.get_by_instance_uuid(
            context, attempt.uuid).instance
        seen = late_changes.watched(last)
        changed = late_changes.changes(attempt.record.asked, seen)
    except exception.BuildRequestNotFound:
        last, seen = attempt.instance, {}
        changed = attempt.record.brought
    in_cell = _changed_in_cell(context, attempt, cell)
    if in_cell is not None:
        changed = {**changed, **in_cell}
    late_changes.keep_changes(
        cctxt, attempt.record, last, attempt.bdms, changed)
    return seen


def _changed_in_cell(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> dict[str, ty.Any] | None:
    """Return what the owner has changed of the row in the real cell.

    :returns: None if the owner does not reach that row yet.
    """
    if cell is None or not attempt.handed_over:
        return None
    attempt.row_watched = cell_db.watched(context, attempt.uuid, cell)
    return late_changes.changes(attempt.record.mapped, attempt.row_watched)


def _is_ours(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None, before: datetime.datetime | None,
) -> bool:
    """Tell whether nobody else has moved the server, or works on it.

    :raises ObjectActionError: if a compute has it by now.
    """
    if attempt.stage.is_mapped_back:
        return location.is_in_cell0(context, attempt.uuid)
    if attempt.handed_over:
        place = location.place(context, attempt.uuid)
        if before is not None and place is not None and (
                place.touched >= before):
            return False
        is_in = attempts.is_in(context, attempt, cell)
        row = cell_db.find(context, attempt.uuid, cell) if is_in else None
        if row is not None and row.is_on_host:
            raise cell_db.on_host()
        return is_in
    return bool(api_db.is_current(context, attempt.uuid, attempt.generation))


def _record_failure(
    cctxt: nova_context.RequestContext, attempt: attempts.Attempt,
    record_failure: _Step,
) -> None:
    if not attempt.recorded:
        actions.record_failure(cctxt, attempt.uuid, record_failure)
        attempt.recorded = True


def _may_bury(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> bool:
    _look_again(context, attempt)
    if not attempt.handed_over:
        abandoned = location.is_abandoned(context, attempt.uuid)
        if abandoned:
            _remove_rows(context, attempt, cell)
        return not abandoned
    if attempt.stage.is_mapped_back:
        return True
    if not attempts.is_in(context, attempt, cell):
        deletion.clear(context, attempt.uuid)
        return False
    row = cell_db.find(context, attempt.uuid, cell)
    if row is not None and row.is_on_host:
        raise cell_db.on_host()
    return True


def _look_again(
    context: nova_context.RequestContext, attempt: attempts.Attempt
) -> None:
    """Find out what a database has done before it went away."""
    if attempt.stage is stages.Stage.MAYBE_HANDED_OVER:
        place = location.place(context, attempt.uuid)
        if place is not None and place.build_request_id is not None:
            attempt.reach(stages.Stage.TAKEN)
    elif attempt.stage is stages.Stage.MAYBE_MAPPED_BACK and (
            location.is_in_cell0(context, attempt.uuid)):
        attempt.reach(stages.Stage.MAPPED_BACK)


def _remove_rows(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping | None,
) -> None:
    if cell is not None:
        with contextlib.suppress(exception.ObjectActionError):
            cell_db.remove(context, attempt.uuid, cell)
    deletion.remove_cell0_row(context, attempt.uuid)


def _leave_cell(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    attempt: attempts.Attempt, cell: objects.CellMapping,
    cell0: objects.CellMapping, before: datetime.datetime | None,
) -> bool:
    """Take a server that was handed over out of the real cell.

    The mapping goes first: any other process at work on the server looks at it
    before it removes anything.

    :returns: False if the owner deleted it, or somebody else has moved it.
    """
    uuid = attempt.uuid
    if not attempt.stage.is_mapped_back:
        # It is also if the database goes away while it commits.
        attempt.reach(stages.Stage.MAYBE_MAPPED_BACK)
        if not api_db.remap(
                context, uuid, cell.id, cell0.id, before, functools.partial(
                    attempts.is_in, context, attempt, cell)):
            deletion.clear(context, uuid)
            return False
        attempt.reach(stages.Stage.MAPPED_BACK)
    with _back_to(context, attempt, cell, cell0):
        if cell0_db.is_there(cctxt, uuid) and (
                cell_db.remove(
                    context, uuid, cell, attempt.row_id,
                    functools.partial(_keep_last, cctxt, attempt))
                or cell_db.find(context, uuid, cell) is None):
            attempt.reach(stages.Stage.OUT_OF_CELL)
    left = attempt.stage is stages.Stage.OUT_OF_CELL
    if not left and attempts.is_deleted(context, attempt, cell):
        # Only its owner can have deleted it there.
        deletion.remove_cell0_row(context, uuid)
    return left


@contextlib.contextmanager
def _back_to(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping, cell0: objects.CellMapping,
) -> ty.Iterator[None]:
    """Map a server to the real cell again, unless it has left it.

    Or somebody else has buried a later attempt meanwhile: no row of this one
    is in the cell then.
    """
    stays = False  # if a database fails, nobody knows: it is tried again
    try:
        yield
        stays = attempt.stage is not stages.Stage.OUT_OF_CELL
    except exception.ObjectActionError:
        stays = True
        raise
    finally:
        if stays:
            api_db.remap(
                context, attempt.uuid, cell0.id, cell.id,
                still=functools.partial(
                    attempts.has_row, context, attempt, cell))
            attempt.reach(stages.Stage.HANDED_OVER)
