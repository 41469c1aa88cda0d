# SPDX-License-Identifier: Apache-2.0

"""The steps of a move in the API database: a transaction and a winner each.

The instance mapping says where a server is: in cell0, in no cell (then it has
a build request) or in a real cell. ``InstanceMapping.save`` cannot clear the
cell of a mapping, and no method of Nova compares before it sets. So the rows
are changed here.

See :mod:`lock` for what all of them have in common.
"""

from __future__ import annotations

import datetime
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import objects
from oslo_serialization import jsonutils

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import lock
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

    _Taken = tuple[objects.BuildRequest, journal.Entry]


@api_db_api.context_manager.reader
def is_current(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, or_unreadable: bool = False,
) -> bool:
    """Tell whether a server is on its way, and its attempt that of a holder.

    Its mapping is locked, see :func:`location.held`.

    :param or_unreadable: see :func:`lock.held`.
    """
    found = lock.held(context, instance_uuid, mine, or_unreadable)
    return found is not None and found.is_on_its_way


def take(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str,
    spec: objects.RequestSpec | None = None,
) -> _Taken | None:
    """Take an attempt; only the first one gets it.

    This is tried again if the database goes away, because that may be after
    the commit: nobody else could take the attempt then.

    :param spec: the RequestSpec to :func:`accept` the attempt with.
    :returns: the build request and the entry; None if the attempt has ended,
        was taken before, or the server is in a cell.
    """
    found: _Taken | None = _take(
        context, instance_uuid, attempt, journal.new_id(), spec)
    return found


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def _take(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str,
    holder: str, spec: objects.RequestSpec | None,
) -> _Taken | None:
    found = lock.locked(context, instance_uuid)
    if found is None or found.entry is None or not found.is_on_its_way:
        return None
    entry = found.entry
    if entry.attempt != attempt or entry.holder not in (attempt, holder):
        return None
    row = context.session.get(
        api_models.BuildRequest, found.build_request_id)
    if row is None:
        return None
    entry.holder = holder
    _accept(context, found, spec)
    found.touch(context)
    return objects.BuildRequest._from_db_object(
        context, objects.BuildRequest(), row), entry


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def accept(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, spec: objects.RequestSpec,
) -> bool:
    """Store what the rebuild changes of the RequestSpec.

    From here on an attempt that fails leaves the server as the rebuild
    request wanted it; before, as it was.

    :returns: False if the attempt has ended.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is None or not found.is_on_its_way:
        return False
    _accept(context, found, spec)
    return True


def _accept(
    context: nova_context.RequestContext, found: lock.Locked,
    spec: objects.RequestSpec | None,
) -> None:
    if spec is not None:
        assert found.entry is not None
        found.entry.accepted = True
        _save_changes(context, found, spec)
    found.write(context)


def _save_changes(
    context: nova_context.RequestContext, found: lock.Locked,
    spec: objects.RequestSpec,
) -> None:
    # A flavor with extra specs that came in a message says it is changed.
    changed = spec.obj_what_changed() - {'flavor'}
    if not changed:
        return
    # The row may have changed since it was read.
    stored = our_objects.RequestSpec._from_db_object(
        context, our_objects.RequestSpec(), found.spec)
    # Nova does not read it, but stores whether there were none.
    for field in changed | {'requested_resources'}:
        setattr(stored, field, getattr(spec, field))
    stored.save()


@db_errors.patiently
@db_errors.retried
@api_db_api.context_manager.writer
def keep_root_known(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, is_known: bool,
) -> bool:
    """Store whether it is known what is on the root volume of a server.

    :returns: False if the attempt has ended; nothing is stored then.
    :raises Unreadable: if what is retained cannot be read.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is None or not found.is_on_its_way:
        return False
    found.write(context, **{retained.ROOT_KNOWN: is_known})
    return True


@db_errors.retried
@api_db_api.context_manager.writer
def answer(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str
) -> bool:
    """Note that the request is answered while somebody has the attempt.

    :returns: False if the attempt has ended.
    """
    found = lock.locked(context, instance_uuid)
    if found is None or found.entry is None or not found.is_on_its_way or (
            found.entry.attempt != attempt):
        return False
    found.entry.answered = True
    found.write(context)
    return True


def entry(
    context: nova_context.RequestContext, instance_uuid: str
) -> journal.Entry | None:
    """Return the entry of the attempt of a server; None if there is none.

    :raises Unreadable: if this package cannot read it.
    """
    return journal.of(retained_db.section(context, instance_uuid))


@db_errors.retried
@api_db_api.context_manager.writer
def take_over(
    context: nova_context.RequestContext, instance_uuid: str,
    before: datetime.datetime, holder: str, cell_id: int | None,
) -> journal.Entry | None:
    """Take an attempt from whoever has it, and is stale then.

    Where no attempt is known any more, an entry is written all the same.

    :param before: only if nobody has worked on it since.
    :param holder: who takes it.
    :param cell_id: only if it is mapped there; None for one on its way.
    :returns: the entry; None if somebody has moved the server, or worked on
        it, or it has a build request that is none of ours.
    :raises Unreadable: if this package cannot read what is stored of it.
    """
    found = lock.locked(context, instance_uuid)
    if found is None:
        return None
    if found.unreadable is not None:
        raise found.unreadable
    entry = found.entry
    if entry is None or entry.holder != holder:
        if found.cell_id != cell_id or (
                found.touched is not None and found.touched >= before):
            return None
        if entry is None:
            # A service without this package has dropped it.
            entry = (journal.Entry(holder, holder)
                     if found.build_request_id is None
                     else lock.mark(context, found))
            if entry is None:
                return None
            # It may have named any cell.
            entry.cells = sorted(cell.uuid for cell in cells.real(context))
            entry.is_unproved = found.spec is None
    found.entry, entry.holder = entry, holder
    # Its mapping stays old, for the next try if this one ends halfway.
    found.write(context)
    return entry


@db_errors.retried
@api_db_api.context_manager.writer
def refresh(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, next_cell: str | None = None,
) -> journal.Entry | None:
    """Make an attempt young again.

    :param next_cell: the UUID of the real cell in which it is created next.
    :returns: its entry; None if it is no longer the current one.
    """
    found = lock.held(context, instance_uuid, mine)
    if found is None or not found.is_on_its_way:
        return None
    assert found.entry is not None
    if next_cell is not None:
        found.entry.cells = sorted({*found.entry.cells, next_cell})
    found.write(context)
    found.touch(context)
    return found.entry


@db_errors.retried
@api_db_api.context_manager.writer
def end(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell_id: int | None,
    last: ty.Callable[[journal.Entry, dict[str, ty.Any]], None],
) -> bool:
    """Delete the build request of an attempt, and map its server to a cell.

    A server that its owner deleted is mapped to none.

    :param cell_id: the real cell; None if the row in cell0 is deleted.
    :param last: is called with the entry, which it changes, and what is
        watched of the build request at last; called again if the transaction
        is tried again.
    :returns: whether the server is mapped to the cell.
    :raises Unreadable: if what is retained cannot be read.
    """
    found = lock.held(context, instance_uuid, mine, or_unreadable=True)
    row = None if found is None else _locked_build_request(context, found)
    if found is None or row is None:
        return False
    if found.unreadable is not None:
        raise found.unreadable
    assert found.entry is not None
    is_mapped = cell_id is not None and found.map_to(context, cell_id)
    last(found.entry, late_changes.watched_in(jsonutils.loads(row.instance)))
    # A recovery finds by it a server that was deleted, too.
    found.write(context)
    context.session.delete(row)
    return is_mapped


@db_errors.retried
@api_db_api.context_manager.writer
def to_cell0(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, cell0_id: int,
    keep: ty.Callable[[objects.Instance], None],
) -> bool:
    """Move the server of an attempt from its build request back to cell0.

    :param keep: is called with the build request's instance as it is at last;
        the row is locked meanwhile, so that a change is kept or refused.
    :returns: False if the server was deleted, or moved by somebody else.
    """
    found = lock.held(context, instance_uuid, mine, or_unreadable=True)
    row = None if found is None else _locked_build_request(context, found)
    if found is None or row is None:
        return False
    keep(objects.BuildRequest._from_db_object(
        context, objects.BuildRequest(), row).instance)
    context.session.delete(row)
    found.write(context)
    return found.map_to(context, cell0_id)


def _locked_build_request(
    context: nova_context.RequestContext, found: lock.Locked
) -> ty.Any:
    if not found.is_on_its_way:
        return None
    return context.session.query(api_models.BuildRequest).filter_by(
        id=found.build_request_id).with_for_update().first()
