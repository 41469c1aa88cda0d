# SPDX-License-Identifier: Apache-2.0

"""What nova-api does to a server that it moves out of cell0.

:func:`ask`         cell0 -> build request; the row in cell0 is hidden
:func:`withdraw`    takes that back, if no conductor has answered
"""

from __future__ import annotations

import functools
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import objects
from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import instance_row
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db
from cell0_rebuild.move import reburial
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from cell0_rebuild import sql_text

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def ask(
    context: nova_context.RequestContext, buried: cell0_copy.Buried,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    spec: objects.RequestSpec,
) -> str:
    """Move a buried server to a build request.

    :param context: of the request.
    :param buried: the server as it was read and validated.
    :param instance: from :func:`cell0_copy.instance_to_build`, with the
        changes that the request makes.
    :param bdms: the block device mappings to build with.
    :param spec: the RequestSpec as it was read; what this rebuild changes of
        it is stored when a conductor takes the attempt.
    :returns: the ID of the attempt.
    :raises LostRace: if somebody else was first; nothing is changed then.
    :raises Unreadable: if what an earlier attempt has left cannot be read.
    """
    uuid, cell = buried.instance.uuid, cells.cell0(context)
    cctxt = cells.targeted(context, cell)
    entry = journal.Entry.new(
        changed=sorted(instance.obj_what_changed()),
        baseline=late_changes.watched(
            buried.instance, buried.bdms, buried.instance.tags))
    if location.is_returning(buried.instance):
        # It is still on its way back from a real cell.
        raise exceptions.LostRace(uuid)
    _catch_up(cctxt, entry, instance)
    journal.put_mark(instance, entry)
    instance.obj_reset_changes(recursive=True)
    try:
        to_build_request(context, uuid, cell.id, functools.partial(
            _build_request, context, buried, instance, bdms), spec, entry)
        if not cell0_db.hide(cctxt, uuid):
            raise exceptions.LostRace(uuid)
    except cell0_db.MaybeHidden:
        # As a build request it can be seen.
        raise
    except Exception:
        # Also after an error it may have been committed.
        if api_db.to_cell0(
                context, uuid, entry, cell.id, functools.partial(
                    late_changes.keep_changes, cctxt, entry, bdms)):
            # An attempt that has ended may have hidden it late.
            reburial.show(context, uuid, entry)
        else:
            deletion.erase(context, uuid)
        mapped_db.leave(context, uuid, entry)
        raise
    return entry.attempt


def to_build_request(
    context: nova_context.RequestContext, instance_uuid: str, cell0_id: int,
    make: ty.Callable[[], objects.BuildRequest], spec: objects.RequestSpec,
    entry: journal.Entry,
) -> None:
    """Move a server from cell0 to a build request.

    :param make: returns a new BuildRequest; called again if the transaction
        is tried again, because an object that was created once cannot be
        created again.
    :param spec: its RequestSpec as it was read.
    :param entry: of the attempt that begins. It gets the cells that an earlier
        one has left.
    :raises BurialNotEnded: if it has the build request of its create.
    :raises LostRace: if somebody else moved, deleted or changed the server
        first.
    :raises Unreadable: if an earlier attempt has left what cannot be read.
    """
    try:
        _to_build_request(context, instance_uuid, cell0_id, make, spec, entry)
    except db_exc.DBDuplicateEntry as error:
        # A conductor that has only stalled would take a new one for its own,
        # and the server for deleted if there were none.
        raise exceptions.BurialNotEnded(instance_uuid) from error


@db_errors.retried
@api_db_api.context_manager.writer
def _to_build_request(
    context: nova_context.RequestContext, instance_uuid: str, cell0_id: int,
    make: ty.Callable[[], objects.BuildRequest], spec: objects.RequestSpec,
    entry: journal.Entry,
) -> None:
    mapping = api_models.InstanceMapping
    deleted = mapping.queued_for_delete
    if not context.session.query(mapping).filter_by(
            instance_uuid=instance_uuid, cell_id=cell0_id,
    ).filter(sa.or_(deleted.is_(None), deleted.is_(False))).update(
            {'cell_id': None}, synchronize_session=False):
        raise exceptions.LostRace(instance_uuid)
    if not _put(context, instance_uuid, spec.blob, entry):
        # The end of a burial may just have removed the entry of an attempt.
        now = context.session.query(api_models.RequestSpec.spec).filter_by(
            instance_uuid=instance_uuid).with_for_update().scalar()
        if now is None or _are_unlike(now, spec.blob):
            raise exceptions.LostRace(instance_uuid)
        _put(context, instance_uuid, now, entry)
    make().create()


def _are_unlike(now: str, read: str) -> bool:
    """Tell whether more has changed than what the end of a burial removes."""
    entry, before = (journal.of(our_objects.section(blob))
                     for blob in (now, read))
    return our_objects.without_attempt(now) != (
        our_objects.without_attempt(read)) or (
            entry is not None and (before is None or (
                (entry.attempt, entry.holder)
                != (before.attempt, before.holder))))


def _put(
    context: nova_context.RequestContext, instance_uuid: str, blob: str,
    entry: journal.Entry,
) -> bool:
    """Put a new entry into a RequestSpec, if it still is as it was read."""
    section = our_objects.section(blob)
    left = journal.of(section)
    entry.cells = [] if left is None else left.cells
    spec = api_models.RequestSpec
    rows: int = context.session.query(spec).filter(
        spec.instance_uuid == instance_uuid,
        sql_text.Equals(spec.spec, blob),
    ).update({'spec': our_objects.with_section(blob, {
        **section, retained.ATTEMPT: entry.to_primitive()})},
        synchronize_session=False)
    return rows == 1


def _catch_up(
    cctxt: nova_context.RequestContext, entry: journal.Entry,
    instance: objects.Instance,
) -> None:
    """Give the instance what was changed in cell0 since it was read.

    The checks take their time. What is changed on the build request comes
    after this, also if it sets a value back.
    """
    now = instance_row.look_at_instance(cctxt, instance.uuid)
    if now is None:
        raise exceptions.LostRace(instance.uuid)
    late_changes.update(instance, late_changes.late(
        entry.baseline, now, entry.baseline, late_changes.watched(instance)))
    entry.baseline.update(now)
    entry.asked = late_changes.watched(instance)


def _build_request(
    context: nova_context.RequestContext, buried: cell0_copy.Buried,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
) -> objects.BuildRequest:
    uuid = instance.uuid
    return objects.BuildRequest(
        context, instance=instance, instance_uuid=uuid,
        project_id=instance.project_id, block_device_mappings=bdms,
        tags=cell0_copy.new_tags(buried.instance.tags, uuid),
        created_at=timeutils.normalize_time(buried.instance.created_at),
        updated_at=timeutils.utcnow())


def is_waiting(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str
) -> bool:
    """Tell whether an attempt waits for a conductor that takes it."""
    place = location.place(context, instance_uuid)
    found = None if place is None else place.entry
    return (found is not None and found.attempt == attempt
            and not found.is_taken)


def withdraw(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str
) -> bool:
    """Take :func:`ask` back: no conductor has answered.

    :returns: False if a conductor has taken the attempt all the same, or the
        owner has deleted the server.
    """
    taken = attempts.begin(context, instance_uuid, attempt)
    if taken is None:
        # If somebody ended it before the row was hidden, that is hidden still.
        reburial.show(context, instance_uuid)
        return False
    if db_errors.patiently(reburial.bury_again)(context, taken):
        return True
    deletion.erase(context, instance_uuid)
    return False


@db_errors.patiently
def goes_on(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str
) -> bool:
    """Tell whether somebody has the attempt, who then records how it ends."""
    if api_db.answer(context, instance_uuid, attempt):
        return True
    place = location.place(context, instance_uuid)
    # Without an entry, the server has landed.
    return place is not None and not place.is_at_rest and (
        place.entry is None or place.entry.attempt == attempt)
