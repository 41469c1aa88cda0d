# SPDX-License-Identifier: Apache-2.0

"""The steps of a move in the API database: a transaction and a winner each.

The instance mapping says where a server is: in cell0, in no cell (then it has
a build request) or in a real cell. ``InstanceMapping.save`` cannot clear the
cell of a mapping, and no method of Nova compares before it sets. So the rows
are changed here.
"""

from __future__ import annotations

import datetime
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import objects
from oslo_db import exception as db_exc
from oslo_serialization import jsonutils
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import late_changes
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def to_build_request(
    context: nova_context.RequestContext, instance_uuid: str, cell0_id: int,
    make: ty.Callable[[], objects.BuildRequest], spec: objects.RequestSpec,
) -> None:
    """Move a server from cell0 to a build request.

    :param make: returns a new BuildRequest; called again if the transaction
        is tried again, because an object that was created once cannot be
        created again.
    :param spec: its RequestSpec as it was read.
    :raises LostRace: if somebody else moved, deleted or changed the server
        first.
    """
    try:
        _to_build_request(context, instance_uuid, cell0_id, make, spec)
    except db_exc.DBDuplicateEntry as error:
        raise exceptions.LostRace(instance_uuid) from error


@db_errors.retried
@api_db_api.context_manager.writer
def _to_build_request(
    context: nova_context.RequestContext, instance_uuid: str, cell0_id: int,
    make: ty.Callable[[], objects.BuildRequest], spec: objects.RequestSpec,
) -> None:
    if not _set_cell(context, instance_uuid, cell0_id, None):
        raise exceptions.LostRace(instance_uuid)
    stored = context.session.query(api_models.RequestSpec.spec).filter_by(
        instance_uuid=instance_uuid).with_for_update().scalar()
    if stored is None or our_objects.differ(stored, spec.blob):
        raise exceptions.LostRace(instance_uuid)
    make().create()


def take(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    host: str, spec: objects.RequestSpec | None = None,
) -> objects.BuildRequest | None:
    """Take an attempt; only the first one gets it.

    This is tried again if the database goes away, because that may be after
    the commit: nobody else could take the attempt then.

    :param host: who takes it.
    :param spec: the RequestSpec to :func:`accept` the attempt with.
    :returns: the build request; None if the attempt has ended, was taken
        before, or the server is in a cell.
    """
    return _take(context, instance_uuid, generation,
                 f'{host} {uuidutils.generate_uuid()}', spec)


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def _take(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    taker: str, spec: objects.RequestSpec | None,
) -> objects.BuildRequest | None:
    locked = _locked(context, instance_uuid, generation)
    if locked is None or locked.record.taken_by not in (None, taker):
        return None
    if not _touch(context, instance_uuid, None):
        return None
    locked.record.taken_by = taker
    _store(context, locked, spec)
    return _build_request(context, locked.row)


@db_errors.retried
@api_db_api.context_manager.writer
def answer(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Note that the request is answered while somebody has the attempt.

    :returns: False if the attempt has ended.
    """
    locked = _locked(context, instance_uuid, generation)
    if locked is None:
        return False
    locked.record.answered = True
    _store(context, locked)
    return True


@api_db_api.context_manager.reader
def is_current(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Tell whether an attempt is the current one, and has not ended."""
    return _record_of(context, instance_uuid, generation) is not None


@api_db_api.context_manager.reader
def is_answered(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Tell whether the request was answered: nobody waits for the outcome."""
    found = _record_of(context, instance_uuid, generation)
    return found is not None and found.answered


@api_db_api.context_manager.reader
def is_waiting(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> bool:
    """Tell whether an attempt waits for a conductor that takes it."""
    found = _record_of(context, instance_uuid, generation)
    return found is not None and found.taken_by is None


def _record_of(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> attempt_record.AttemptRecord | None:
    blob = context.session.query(api_models.BuildRequest.instance).filter_by(
        instance_uuid=instance_uuid).scalar()
    return None if blob is None else attempt_record.of_generation(
        jsonutils.loads(blob), generation)


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def accept(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    spec: objects.RequestSpec,
) -> bool:
    """Store what the rebuild changes of the RequestSpec.

    From here on an attempt that fails leaves the server as the rebuild
    request wanted it; before, as it was.

    :returns: False if the attempt has ended.
    """
    locked = _locked(context, instance_uuid, generation)
    if locked is None:
        return False
    _store(context, locked, spec)
    return True


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def keep_root_known(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    is_known: bool,
) -> bool:
    """Store whether it is known what is on the root volume of a server.

    :returns: False if the attempt has ended; nothing is stored then.
    :raises Unreadable: if what is retained cannot be read.
    """
    if _locked(context, instance_uuid, generation) is None:
        return False
    our_objects.keep_also(
        context, instance_uuid, {retained.ROOT_KNOWN: is_known},
        or_alone=not is_known)
    return True


def _store(
    context: nova_context.RequestContext, locked: _Locked,
    spec: objects.RequestSpec | None = None,
) -> None:
    if spec is not None:
        locked.record.accepted = True
        _save_changes(context, spec)
    locked.record.put_in(locked.instance)
    # Nova's save would read the row again.
    locked.row.update({'instance': jsonutils.dumps(locked.instance)})


def _save_changes(
    context: nova_context.RequestContext, spec: objects.RequestSpec
) -> None:
    # A flavor with extra specs that came in a message says it is changed.
    changed = spec.obj_what_changed() - {'flavor'}
    if not changed:
        return
    # The row may have changed since it was read.
    stored = our_objects.locked(context, spec.instance_uuid)
    # Nova does not read it, but stores whether there were none.
    for field in changed | {'requested_resources'}:
        setattr(stored, field, getattr(spec, field))
    stored.save()


@db_errors.retried
@api_db_api.context_manager.writer
def seize(
    context: nova_context.RequestContext, instance_uuid: str,
    before: datetime.datetime, who: str,
) -> objects.BuildRequest | None:
    """Take an attempt from the process that has it, which is stale then.

    :param before: only if nobody has refreshed it since.
    :returns: the build request with a new generation; None if there is none
        of ours that is so old.
    """
    row = context.session.query(api_models.BuildRequest).filter_by(
        instance_uuid=instance_uuid).with_for_update().first()
    if row is None:
        return None
    touched = _touched(context, instance_uuid)
    if touched is None or touched >= before:
        return None
    build_request = _build_request(context, row)
    found = attempt_record.of(build_request.instance)
    if found is None:
        return None
    found.generation = uuidutils.generate_uuid()
    if found.taken_by is not None:
        found.taken_by = who
    found.put_on(build_request.instance)
    # Its mapping stays old, for the next try if this one ends halfway.
    build_request.save()
    return build_request


@db_errors.retried
@api_db_api.context_manager.writer
def refresh(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    next_cell: str | None = None,
) -> bool:
    """Make an attempt young again.

    :param next_cell: the UUID of the real cell in which it is created next.
    :returns: False if it is no longer the current one.
    """
    locked = _locked(context, instance_uuid, generation)
    if locked is None or not _touch(context, instance_uuid, None):
        return False
    if next_cell is not None:
        locked.record.cells = [*locked.record.cells, next_cell]
        _store(context, locked)
    return True


@db_errors.retried
@api_db_api.context_manager.writer
def end(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    cell_id: int | None,
    last: ty.Callable[[dict[str, ty.Any]], attempt_record.AttemptRecord],
) -> bool:
    """Delete the build request of an attempt, and map its server to a cell.

    A server that its owner deleted is mapped to none.

    :param cell_id: the real cell; None if the row in cell0 is deleted.
    :param last: is called with what is watched of the build request at last,
        and returns the record, which stays with what is retained; called
        again if the transaction is tried again.
    :returns: whether the server is mapped to the cell.
    :raises Unreadable: if what is retained cannot be read.
    """
    locked = _locked(context, instance_uuid, generation)
    if locked is None:
        return False
    is_mapped = cell_id is not None and _set_cell(
        context, instance_uuid, None, cell_id)
    # A recovery finds by it a server that was deleted, too.
    retained_db.keep_record(
        context, instance_uuid,
        last(late_changes.watched_in(locked.instance)).to_primitive())
    context.session.delete(locked.row)
    return is_mapped


def retained_record(
    context: nova_context.RequestContext, instance_uuid: str
) -> attempt_record.RetainedRecord | None:
    """Return the record that :func:`end` stored last.

    :returns: None if nothing is retained of the server.
    :raises Unreadable: if what is retained cannot be read.
    """
    primitive = retained_db.record(context, instance_uuid)
    return None if primitive is None else (
        attempt_record.RetainedRecord(primitive))


@db_errors.retried
@api_db_api.context_manager.writer
def to_cell0(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    cell0_id: int, keep: ty.Callable[[objects.Instance], None],
    **columns: ty.Any,
) -> bool:
    """Move the server of an attempt from its build request back to cell0.

    :param keep: is called with the build request's instance as it is at last;
        the row is locked meanwhile, so that a change is kept or refused.
    :param columns: what else is set in the row of its mapping.
    :returns: False if the server was deleted, or moved by somebody else.
    """
    locked = _locked(context, instance_uuid, generation)
    if locked is None:
        return False
    keep(_build_request(context, locked.row).instance)
    context.session.delete(locked.row)
    if locked.record.cells:
        # The process may die before it has removed the row there.
        retained_db.keep_left(
            context, instance_uuid, more=locked.record.cells)
    return _set_cell(context, instance_uuid, None, cell0_id, **columns)


@db_errors.retried
@api_db_api.context_manager.writer
def remap(
    context: nova_context.RequestContext, instance_uuid: str, old: int | None,
    new: int | None, before: datetime.datetime | None = None,
    still: ty.Callable[[], bool] = lambda: True,
) -> bool:
    """Map a server to another cell.

    :param before: only if nobody has touched the mapping since.
    :param still: whether it is to be mapped; asked while its row is locked.
    :returns: False if it is not mapped to the old one, or is deleted.
    """
    # Locked: whoever works on the server may be about to touch it.
    touched = context.session.query(
        api_models.InstanceMapping.updated_at).filter_by(
        instance_uuid=instance_uuid).with_for_update().scalar()
    if before is not None and touched is not None and touched >= before:
        return False
    if not still():
        return False
    return _set_cell(context, instance_uuid, old, new)


@api_db_api.context_manager.writer
def touch(
    context: nova_context.RequestContext, instance_uuid: str, cell_id: int
) -> None:
    """Make an attempt young that has reached a real cell."""
    _touch(context, instance_uuid, cell_id)


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


def _set_cell(
    context: nova_context.RequestContext, instance_uuid: str, old: int | None,
    new: int | None, **columns: ty.Any,
) -> bool:
    mapping = api_models.InstanceMapping
    deleted = mapping.queued_for_delete
    rows: int = context.session.query(mapping).filter_by(
        instance_uuid=instance_uuid, cell_id=old,
    ).filter(sa.or_(deleted.is_(None), deleted.is_(False))).update(
        {'cell_id': new, **columns}, synchronize_session=False)
    return rows == 1


def _touch(
    context: nova_context.RequestContext, instance_uuid: str,
    cell_id: int | None,
) -> bool:
    """Make the mapping young, if it is to this cell, or to none for None."""
    rows: int = context.session.query(api_models.InstanceMapping).filter_by(
        instance_uuid=instance_uuid, cell_id=cell_id,
    ).update({'updated_at': timeutils.utcnow()}, synchronize_session=False)
    return rows == 1


def _touched(
    context: nova_context.RequestContext, instance_uuid: str
) -> datetime.datetime | None:
    moment: datetime.datetime | None = context.session.query(
        api_models.InstanceMapping.updated_at).filter_by(
        instance_uuid=instance_uuid).scalar()
    return moment


class _Locked(ty.NamedTuple):
    """The build request of an attempt, its row locked.

    Most steps need no more of it than the record. The objects, which take
    long to make, are made where they are needed.

    :param instance: the primitive that is stored.
    """

    row: api_models.BuildRequest
    instance: dict[str, ty.Any]
    record: attempt_record.AttemptRecord


def _locked(
    context: nova_context.RequestContext, instance_uuid: str, generation: str
) -> _Locked | None:
    row = context.session.query(api_models.BuildRequest).filter_by(
        instance_uuid=instance_uuid).with_for_update().first()
    if row is None or row.instance is None:
        return None
    instance = jsonutils.loads(row.instance)
    found = attempt_record.of_generation(instance, generation)
    return None if found is None else _Locked(row, instance, found)


def _build_request(
    context: nova_context.RequestContext, row: api_models.BuildRequest
) -> objects.BuildRequest:
    return objects.BuildRequest._from_db_object(
        context, objects.BuildRequest(), row)
