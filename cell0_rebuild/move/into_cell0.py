# SPDX-License-Identifier: Apache-2.0

"""A server that has failed in a real cell, without a host, goes to cell0.

It is copied there, hidden; from then on it is a rebuild that has failed, and
:mod:`reburial` takes it out of its cell. If the process dies before the copy
is there, a recovery drops the entry, and the server is as it was. If it dies
later, the recovery ends the burial.
"""

from __future__ import annotations

import contextlib
import typing as ty

from nova.compute import vm_states
from nova.db.api import api as api_db_api
from nova.db.main import api as main_db_api
from nova import exception
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild.move import actions
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import lock
from cell0_rebuild.move import mapped_db
from cell0_rebuild.move import reburial
from cell0_rebuild import retained as retained_form

if ty.TYPE_CHECKING:
    from nova import context as nova_context

# Nova's compute does not allocate the networks of a server that has it.
_ALLOCATED = 'network_allocated'


def bury(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping, retained: retained_form.Retained,
    availability_zone: str | None,
    is_still_so: ty.Callable[[], bool] = lambda: True,
) -> bool:
    """Bury a server of which no compute and no conductor knows any more.

    What it has in Placement stays.

    :param cell: the real cell that it is mapped to.
    :param retained: what a rebuild needs to know of its create.
    :param availability_zone: that its owner asked for.
    :param is_still_so: whether it is to be buried; asked while its mapping is
        locked.
    :returns: False if it was not buried: its owner has deleted it, or somebody
        else has changed it meanwhile.
    :raises ObjectActionError: if a compute has it.
    :raises Unreadable: if this package cannot read what is stored of it.
    """
    in_cell, in_cell0 = cells.targeted(context, cell), cells.in_cell0(context)
    try:
        there = cell0_copy.read(in_cell, instance_uuid)
    except exception.InstanceNotFound:
        return False
    row = cell_db.find(context, instance_uuid, cell)
    if row is None:
        return False
    if row.is_on_host:
        raise cell_db.on_host()
    watched = late_changes.watched(
        there.instance, there.bdms, there.instance.tags)
    attempt, holder = journal.new_id(), journal.new_id()
    entry = journal.Entry(
        attempt, holder, baseline=watched, asked=watched, cells=[cell.uuid])
    if not _enter(
            context, instance_uuid, entry, cell.id, retained, is_still_so):
        return False
    try:
        _copy(in_cell0, in_cell, there, availability_zone)
    except Exception:
        with contextlib.suppress(db_exc.DBError):
            # Also after an error it may have been committed.
            if not cell0_db.is_there(in_cell0, instance_uuid):
                mapped_db.forget(context, instance_uuid, entry, cell.id)
        raise
    if reburial.bury_again(
            context, attempts.Attempt.interrupted(
                instance_uuid, entry, there, row.id), cell):
        return True
    _remove_copy(context, instance_uuid, cell)
    return False


@db_errors.patiently
def leave_cell(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Delete the row of a server that Nova is going to bury.

    :param cell: a real cell, to which it is not mapped.
    :raises ObjectActionError: if a compute has it.
    """
    cell_db.remove(context, instance_uuid, cell)


def _remove_copy(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Remove the row in cell0 of a server that somebody has left in its cell.

    A recovery may have dropped the entry just before the copy was there.
    """
    with location.held(context, instance_uuid):
        place = location.place(context, instance_uuid)
        if place is not None and place.cell_id == cell.id and (
                place.entry is None):
            cell0_db.remove(cells.in_cell0(context), instance_uuid)


@db_errors.retried
@api_db_api.context_manager.writer
def _enter(
    context: nova_context.RequestContext, instance_uuid: str,
    entry: journal.Entry, cell_id: int, retained: retained_form.Retained,
    is_still_so: ty.Callable[[], bool],
) -> bool:
    """Store the entry, and what is retained, of a server in a real cell.

    :returns: False if it is not there, or somebody else moves it.
    :raises Unreadable: if this package cannot read what is stored of it.
    """
    found = lock.locked(context, instance_uuid)
    if found is None or found.spec is None or found.deleted or (
            found.cell_id != cell_id or found.build_request_id is not None):
        return False
    if found.unreadable is not None:
        raise found.unreadable
    if found.entry is None and not is_still_so():
        return False
    if found.entry is not None and found.entry.holder != entry.holder:
        return False
    found.entry = entry
    found.write(context, **retained.to_primitive())
    # A recovery is to leave it alone meanwhile.
    found.touch(context)
    return True


@main_db_api.pick_context_manager_writer
def _copy(
    context: nova_context.RequestContext,
    source: nova_context.RequestContext, there: cell0_copy.Buried,
    availability_zone: str | None,
) -> None:
    """Create the row in cell0, hidden, with its history, by one transaction.

    :param context: targeted at cell0.
    :param source: targeted at the cell.
    """
    copied = cell0_copy.instance_to_build(there.instance)
    instance = objects.Instance(context)
    for field in copied.obj_fields:
        if copied.obj_attr_is_set(field):
            setattr(instance, field, getattr(copied, field))
    instance.vm_state, instance.task_state = vm_states.ERROR, None
    instance.hidden = True
    instance.created_at = there.instance.created_at
    instance.availability_zone = availability_zone
    instance.system_metadata = {
        key: value for key, value in instance.system_metadata.items()
        if key != _ALLOCATED}
    instance.create()
    for bdm in cell0_copy.new_bdms(context, there.bdms):
        bdm.create()
    for tag in cell0_copy.new_tags(there.instance.tags, instance.uuid):
        tag._context = context
        tag.create()
    actions.bring(source, context, instance.uuid)
    fault = objects.InstanceFault.get_latest_for_instance(
        source, instance.uuid)
    if fault is not None:
        objects.InstanceFault(
            context, instance_uuid=instance.uuid, code=fault.code,
            message=fault.message, details=fault.details,
            host=fault.host).create()
