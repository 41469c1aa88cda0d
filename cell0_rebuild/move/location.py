# SPDX-License-Identifier: Apache-2.0

"""Where a server stands: on its way, or at rest in cell0 or deleted.

An answer alone may be out of date when it is used: the process may stall until
somebody else has built the server. So a step that depends on it is made inside
of :func:`held`, and one that needs a server at rest inside of :func:`at_rest`.
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import datetime
import sys
import typing as ty

from nova.compute import task_states
from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import exception
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import journal
from cell0_rebuild import objects as our_objects

if ty.TYPE_CHECKING:
    from nova import context as nova_context


# Of a row in cell0 that is shown before its server has left a real cell.
RETURNING = task_states.SCHEDULING


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a server is.

    :param cell_id: the cell that it is mapped to.
    :param in_cell0: that is cell0.
    :param deleted: its owner deleted it.
    :param build_request_id: its build request, of whatever origin.
    :param touched: when the mapping was written last.
    :param entry: of its attempt; None if there is none, or it is unreadable.
    :param has_spec: it has a RequestSpec, in which an entry can be.
    """

    cell_id: int | None
    in_cell0: bool
    deleted: bool
    build_request_id: int | None
    touched: datetime.datetime
    entry: journal.Entry | None
    has_spec: bool

    @property
    def is_deleted(self) -> bool:
        """Whether the owner deleted it."""
        return self.build_request_id is None and (
            self.cell_id is None or self.deleted)

    @property
    def is_abandoned(self) -> bool:
        """Whether the owner deleted it on its way, or in a real cell.

        In cell0 Nova itself deletes the row, and archives what belongs to it.
        """
        return self.is_deleted and not self.in_cell0

    @property
    def is_buried(self) -> bool:
        """Whether it is in cell0, and not on its way."""
        return self.build_request_id is None and self.in_cell0

    @property
    def is_at_rest(self) -> bool:
        """Whether it is buried or deleted: it needs no resources."""
        return self.is_abandoned or self.is_buried

    def is_held_by(self, entry: journal.Entry) -> bool:
        """Tell whether the holder of an entry still has the attempt."""
        if not self.has_spec:
            return entry.is_unproved
        return self.entry is not None and self.entry.holder == entry.holder


def is_returning(row: ty.Any) -> bool:
    """Tell whether a row in cell0 is that of a server on its way back.

    :param row: with ``hidden`` and ``task_state``.
    """
    return bool(row.hidden or row.task_state == RETURNING)


@api_db_api.context_manager.reader
def place(
    context: nova_context.RequestContext, instance_uuid: str
) -> Place | None:
    """Return where a server is; None if nobody knows it any more."""
    mapping, build_request, cell, spec = (
        api_models.InstanceMapping, api_models.BuildRequest,
        api_models.CellMapping, api_models.RequestSpec)
    # One statement, so that a move in between cannot be half seen.
    row = context.session.query(
        mapping.cell_id, cell.uuid, mapping.queued_for_delete,
        build_request.id, mapping.created_at, mapping.updated_at, spec.spec,
    ).outerjoin(cell, cell.id == mapping.cell_id).outerjoin(
        build_request, build_request.instance_uuid == mapping.instance_uuid,
    ).outerjoin(
        spec, spec.instance_uuid == mapping.instance_uuid,
    ).filter(mapping.instance_uuid == instance_uuid).first()
    if row is None:
        return None
    cell_id, cell_uuid, deleted, build_request_id, created, updated, blob = row
    entry = None
    with contextlib.suppress(exceptions.Unreadable):
        entry = journal.of(our_objects.section(blob or ''))
    return Place(
        cell_id, cell_uuid == objects.CellMapping.CELL0_UUID, bool(deleted),
        build_request_id, updated or created, entry, blob is not None)


def is_deleted_on_its_way(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether the owner deleted a server before it reached a cell.

    In a cell, the mapping is marked for a soft delete as well.
    """
    found = place(context, instance_uuid)
    return found is None or (found.is_deleted and found.cell_id is None)


def is_abandoned(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether the owner deleted a server that was on its way.

    Nova deletes the build request first and marks the mapping at the end.
    """
    found = place(context, instance_uuid)
    return found is None or found.is_abandoned


class BuriedRecords(ty.NamedTuple):
    """What the API database has of a buried server.

    :param spec: its RequestSpec, None if there is none.
    """

    spec: objects.RequestSpec | None


def buried_records(
    context: nova_context.RequestContext, instance_uuid: str
) -> BuriedRecords | None:
    """Look a buried server up.

    :returns: None if it is not mapped to cell0.
    :raises InstanceMappingNotFound: if it was deleted.
    """
    row = _mapping_and_spec(context, instance_uuid)
    if row is None:
        raise exception.InstanceMappingNotFound(uuid=instance_uuid)
    cell_id, stored = row
    if cell_id != cells.cell0(context).id:
        return None
    spec = None if stored is None else objects.RequestSpec._from_db_object(
        context, objects.RequestSpec(), stored)
    return BuriedRecords(spec)


@api_db_api.context_manager.reader
def _mapping_and_spec(
    context: nova_context.RequestContext, instance_uuid: str
) -> ty.Any:
    mapping, spec = api_models.InstanceMapping, api_models.RequestSpec
    # One statement for what Nova looks up by two.
    return context.session.query(
        mapping.cell_id, spec,
    ).outerjoin(
        spec, spec.instance_uuid == mapping.instance_uuid,
    ).filter(mapping.instance_uuid == instance_uuid).first()


@contextlib.contextmanager
def held(
    context: nova_context.RequestContext, instance_uuid: str
) -> collections.abc.Iterator[None]:
    """Keep others from moving a server, or beginning to, meanwhile.

    Each move writes the row of its mapping, which is locked here. Whatever is
    read inside is as it was when the row was locked, or newer.
    """
    transaction = _begun(context, instance_uuid)
    try:
        yield
    except BaseException:
        transaction.__exit__(*sys.exc_info())
        raise
    # What was to be done is done, also if the database is away by now.
    with contextlib.suppress(db_exc.DBError):
        transaction.__exit__(None, None, None)


@db_errors.patiently
@db_errors.retried
def _begun(
    context: nova_context.RequestContext, instance_uuid: str
) -> contextlib.ExitStack:
    with contextlib.ExitStack() as stack:
        stack.enter_context(api_db_api.context_manager.writer.using(context))
        # The first statement, before anything is read that may change.
        found = context.session.query(api_models.InstanceMapping.id).filter_by(
            instance_uuid=instance_uuid).with_for_update().first()
        # Nobody moves what is gone, and InnoDB has locked the gap: creates of
        # others would wait.
        return contextlib.ExitStack() if found is None else stack.pop_all()


@contextlib.contextmanager
def at_rest(
    context: nova_context.RequestContext, instance_uuid: str
) -> collections.abc.Iterator[bool]:
    """Tell whether a server is at rest, and keep it so meanwhile."""
    with held(context, instance_uuid):
        yield is_at_rest(context, instance_uuid)


def is_at_rest(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether a server is buried or deleted: it needs no resources."""
    found = place(context, instance_uuid)
    return found is None or found.is_at_rest


def is_in_cell0(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether a server is buried."""
    found = place(context, instance_uuid)
    return found is not None and found.is_buried
