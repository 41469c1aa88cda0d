# SPDX-License-Identifier: Apache-2.0

"""The row in cell0 while its server is on the way out.

It is hidden, which Nova's lists and counts honour since cross-cell resize,
and holds everything that is needed to bury the server again. It is deleted
when the server has been handed to a compute. On the way back from a real cell
it is shown just before the row there goes, and until then has a task_state.
"""

from __future__ import annotations

import contextlib
import typing as ty

from nova.compute import task_states
from nova.compute import vm_states
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import exception
from nova import objects
from oslo_db import exception as db_exc
import sqlalchemy as sa

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import instance_row
from cell0_rebuild.move import location

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class MaybeHidden(db_exc.DBError):  # type: ignore[misc]
    """The database went away while it hid a server in cell0."""


def hide(context: nova_context.RequestContext, instance_uuid: str) -> bool:
    """Hide the row.

    :param context: targeted at cell0.
    :returns: False if the server is deleted or being deleted, or hidden.
    :raises MaybeHidden: if the database went away while it committed, and is
        away still; after any other error the row is shown.
    """
    updated = False

    @db_errors.retried
    @main_db_api.pick_context_manager_writer
    def hide_it(context: nova_context.RequestContext) -> bool:
        nonlocal updated
        updated = False
        rows: int = context.session.query(models.Instance).filter_by(
            uuid=instance_uuid, deleted=0, task_state=None,
        ).filter(
            # So it is for a moment, just before Nova deletes the row.
            models.Instance.vm_state != vm_states.DELETED,
            # Or it is still on its way back from a real cell.
            models.Instance.hidden.isnot(True),
        ).update(instance_row.hidden(True), synchronize_session=False)
        # Somebody else may have hidden it.
        updated = rows == 1
        return updated

    try:
        return bool(hide_it(context))
    except db_exc.DBError:
        if updated:
            _show_after_all(context, instance_uuid)
        raise


@db_errors.retried
@main_db_api.pick_context_manager_writer
def begin_delete(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Keep rebuilds from beginning, as Nova's delete does.

    :param context: targeted at cell0.
    :returns: False if the server is deleted, or hidden.
    """
    rows: int = context.session.query(models.Instance).filter_by(
        uuid=instance_uuid, deleted=0,
    ).filter(models.Instance.hidden.isnot(True)).update(
        {'task_state': task_states.DELETING}, synchronize_session=False)
    return rows == 1


def _show_after_all(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    try:
        show(context, instance_uuid)
    except db_exc.DBError as error:
        raise MaybeHidden() from error


@db_errors.retried
@main_db_api.pick_context_manager_writer
def show(
    context: nova_context.RequestContext, instance_uuid: str,
    is_returning: bool = False,
) -> None:
    """Show the row again, if it is still there.

    :param is_returning: the server has not left its real cell yet. Until the
        row is shown without this it has a task_state, so that no rebuild
        begins.
    """
    change = sa.func.coalesce if is_returning else sa.func.nullif
    context.session.query(models.Instance).filter_by(
        uuid=instance_uuid, deleted=0,
    ).update(dict(
        instance_row.hidden(False), task_state=change(
            models.Instance.task_state, location.RETURNING),
    ), synchronize_session=False)


@db_errors.retried
@main_db_api.pick_context_manager_writer
def remove(
    context: nova_context.RequestContext, instance_uuid: str,
    still: ty.Callable[[], bool] = lambda: True,
) -> None:
    """Delete the row and all that belongs to it, for good.

    A row that its owner deleted stays as Nova's delete left it.

    :param still: whether it is to be deleted; asked while the row is locked.
    """
    if _lock(context, instance_uuid) and still():
        _remove(context, instance_uuid)


@db_errors.retried
@main_db_api.pick_context_manager_writer
def is_there(context: nova_context.RequestContext, instance_uuid: str) -> bool:
    """Tell whether there is a row, also one that the owner deleted.

    Waits for transactions that may delete it.
    """
    return _lock(context, instance_uuid)


def _lock(context: nova_context.RequestContext, instance_uuid: str) -> bool:
    instance, volume = models.Instance, models.BlockDeviceMapping
    # Nova changes volumes without a look at the instance.
    query = context.session.query(instance.id, volume.id).outerjoin(
        volume, volume.instance_uuid == instance.uuid,
    ).filter(instance.uuid == instance_uuid)
    return bool(instance_row.locked(context, query, instance_uuid).all())


def _remove(context: nova_context.RequestContext, instance_uuid: str) -> None:
    with contextlib.suppress(exception.InstanceNotFound):
        instance_row.destroy(context, instance_uuid)


def watched(
    context: nova_context.RequestContext, instance_uuid: str
) -> dict[str, ty.Any] | None:
    """Return what is watched of the row; None if the owner deleted it.

    :raises LostRace: if somebody works on it in cell0.
    """
    found: instance_row.Watched | None = instance_row.look(
        context, instance_uuid)
    if found is None or found.deleted:
        return None
    if found.task_state is not None:
        raise exceptions.LostRace(
            f'the server is {found.task_state} in cell0')
    return found.values


def vm_state(
    context: nova_context.RequestContext, instance_uuid: str
) -> str | None:
    """Return the vm_state in cell0; None if the owner deleted the server."""
    try:
        row = objects.Instance.get_by_uuid(
            context, instance_uuid, expected_attrs=[])
    except exception.InstanceNotFound:
        return None
    return str(row.vm_state)


@db_errors.retried
@main_db_api.pick_context_manager_writer
def close(
    context: nova_context.RequestContext, instance_uuid: str,
    carry_over: ty.Callable[[dict[str, ty.Any]], bool],
) -> bool:
    """Carry over the late changes and delete the row.

    The rows are locked meanwhile: a change either is carried over or finds no
    row and fails.

    :param context: targeted at cell0.
    :param carry_over: is called with what is watched of the row; it stays if
        that returns False.
    :returns: True if the server was deleted here, or is being deleted; then
        the row stays as it is.
    """
    found = instance_row.read(context, instance_uuid, is_locked=True)
    if found is None or found.deleted:
        return found is not None
    if carry_over(found.values) and not found.being_deleted:
        _remove(context, instance_uuid)
    return found.being_deleted
