# SPDX-License-Identifier: Apache-2.0

"""What nova-api does to a server that it moves out of cell0.

:func:`ask`         cell0 -> build request; the row in cell0 is hidden
:func:`withdraw`    takes that back, if no conductor has answered
"""

from __future__ import annotations

import functools
import typing as ty

from nova import objects
from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import instance_row
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import reburial

if ty.TYPE_CHECKING:
    import datetime

    from nova import context as nova_context


def ask(
    context: nova_context.RequestContext, buried: cell0_copy.Buried,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    spec: objects.RequestSpec, mapped_at: datetime.datetime | None,
) -> str:
    """Move a buried server to a build request.

    :param context: of the request.
    :param buried: the server as it was read and validated.
    :param instance: from :func:`cell0_copy.instance_to_build`, with the
        changes that the request makes.
    :param bdms: the block device mappings to build with.
    :param spec: the RequestSpec as it was read; what this rebuild changes of
        it is stored when a conductor takes the attempt.
    :param mapped_at: when its instance mapping was written last.
    :returns: the generation of the attempt.
    :raises LostRace: if somebody else was first; nothing is changed then.
    """
    uuid, cell = buried.instance.uuid, cells.cell0(context)
    cctxt = cells.targeted(context, cell)
    record = attempt_record.AttemptRecord.new(
        instance,
        baseline=late_changes.watched(
            buried.instance, buried.bdms, buried.instance.tags),
        mapped_at=mapped_at)
    if buried.instance.hidden:
        # It is still on its way back from a real cell.
        raise exceptions.LostRace(uuid)
    _catch_up(cctxt, record, instance)
    record.put_on(instance)
    instance.obj_reset_changes(recursive=True)
    try:
        api_db.to_build_request(context, uuid, cell.id, functools.partial(
            _build_request, context, buried, instance, bdms), spec)
        if not cell0_db.hide(cctxt, uuid):
            raise exceptions.LostRace(uuid)
    except cell0_db.MaybeHidden:
        # As a build request it can be seen.
        raise
    except Exception:
        # Also after an error it may have been committed.
        if not api_db.to_cell0(
                context, uuid, record.generation, cell.id, functools.partial(
                    late_changes.keep_late, cctxt, uuid, record.asked),
                **record.mapping_before()):
            deletion.erase(context, uuid)
        raise
    return record.generation


def _catch_up(
    cctxt: nova_context.RequestContext, record: attempt_record.AttemptRecord,
    instance: objects.Instance,
) -> None:
    """Give the instance what was changed in cell0 since it was read.

    The checks take their time. What is changed on the build request comes
    after this, also if it sets a value back.
    """
    now = instance_row.look_at_instance(cctxt, instance.uuid)
    if now is None:
        raise exceptions.LostRace(instance.uuid)
    late = late_changes.changes(record.baseline, now)
    late_changes.update(instance, {
        name: value for name, value in late.items()
        if name not in record.changed})
    record.baseline.update(late)
    record.asked = late_changes.watched(instance)


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
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Tell whether an attempt waits for a conductor that takes it."""
    return bool(api_db.is_waiting(context, instance_uuid, generation))


def withdraw(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Take :func:`ask` back: no conductor has answered.

    :returns: False if a conductor has taken the attempt all the same, or the
        owner has deleted the server.
    """
    attempt = attempts.begin(context, instance_uuid, generation, 'nova-api')
    if attempt is None:
        return False
    if db_errors.patiently(reburial.bury_again)(context, attempt):
        return True
    deletion.erase(context, instance_uuid)
    return False


@db_errors.patiently
def goes_on(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Tell whether somebody has the attempt, who then records how it ends."""
    return bool(api_db.answer(context, instance_uuid, generation)) or not (
        location.is_at_rest(context, instance_uuid))
