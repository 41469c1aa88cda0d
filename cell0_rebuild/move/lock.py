# SPDX-License-Identifier: Apache-2.0

"""What a step of a move locks in the API database, and how it ends.

A step locks the mapping and the RequestSpec, in which the entry of the attempt
is. It compares the holder, acts, and writes the entry, which counts the step.
It locks no row that is never there: InnoDB would lock the gap, and creates of
others would wait.
"""

from __future__ import annotations

import typing as ty

from nova.db.api import models as api_models
from oslo_serialization import jsonutils
from oslo_utils import timeutils

from cell0_rebuild import exceptions
from cell0_rebuild.move import journal
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class Locked:
    """A server, its mapping and its RequestSpec locked.

    :ivar cell_id: the cell that it is mapped to.
    :ivar deleted: its owner deleted it in its cell.
    :ivar touched: when the mapping was written last.
    :ivar build_request_id: its build request, of whatever origin.
    :ivar spec: the row of its RequestSpec; None if somebody removed it.
    :ivar entry: of its attempt, None if there is none.
    :ivar unreadable: why what is stored of it cannot be read.
    """

    def __init__(self, row: ty.Any, spec: ty.Any) -> None:
        (self._mapping_id, self.cell_id, self.deleted, self.touched,
         self.build_request_id) = row
        self.spec = spec
        self.entry: journal.Entry | None = None
        self.unreadable: exceptions.Unreadable | None = None
        try:
            self.entry = journal.of(self._section)
        except exceptions.Unreadable as error:
            self.unreadable = error

    @property
    def _section(self) -> ty.Any:
        return our_objects.section(self.spec.spec) if self.spec else None

    @property
    def is_on_its_way(self) -> bool:
        """Whether it has a build request and is in no cell."""
        return self.cell_id is None and self.build_request_id is not None

    def map_to(
        self, context: nova_context.RequestContext, cell_id: int | None
    ) -> bool:
        """Map the server to a cell; False if its owner deleted it."""
        if not self.deleted:
            self._update_mapping(context, cell_id=cell_id)
        return not self.deleted

    def map_back(
        self, context: nova_context.RequestContext, cell_id: int
    ) -> None:
        """Map the server to the cell that has it, deleted or not.

        Nobody could reach it there otherwise.
        """
        self._update_mapping(context, cell_id=cell_id)

    def touch(self, context: nova_context.RequestContext) -> None:
        """Make the attempt young."""
        self._update_mapping(context, updated_at=timeutils.utcnow())

    def _update_mapping(
        self, context: nova_context.RequestContext, **values: ty.Any
    ) -> None:
        # By its ID: InnoDB locks what it looks at in any other index, too.
        context.session.query(api_models.InstanceMapping).filter_by(
            id=self._mapping_id).update(values, synchronize_session=False)

    def write(
        self, context: nova_context.RequestContext, **values: ty.Any
    ) -> None:
        """Store the entry, where one can be stored and read.

        :param values: what else is stored with what is retained.
        """
        if self.unreadable is not None or self.spec is None:
            return
        # Alone, if a service without this package has dropped it.
        section = dict(self._section or {'version': retained.VERSION})
        section.pop(retained.ATTEMPT, None)
        if self.entry is not None:
            self.entry.count += 1
            section[retained.ATTEMPT] = self.entry.to_primitive()
        section.update(values)
        self._store(context, section if len(section) > 1 else None)

    def forget(self, context: nova_context.RequestContext) -> None:
        """Remove the entry and all else that is retained of the server."""
        if self.spec is not None and self._section is not None:
            self._store(context, None)

    def _store(
        self, context: nova_context.RequestContext, section: ty.Any
    ) -> None:
        self.spec.update({'spec': our_objects.with_section(
            self.spec.spec, section)})
        self.spec.save(context.session)


def locked(
    context: nova_context.RequestContext, instance_uuid: str
) -> Locked | None:
    """Lock a server; None if it has no mapping.

    :param context: in a transaction in the API database.
    """
    mapping, spec, build_request = (
        api_models.InstanceMapping, api_models.RequestSpec,
        api_models.BuildRequest)
    columns = (
        mapping.id, mapping.cell_id, mapping.queued_for_delete,
        mapping.updated_at,
        # Not joined: it is not to be locked if it is not there.
        context.session.query(build_request.id).filter(
            build_request.instance_uuid == mapping.instance_uuid,
        ).correlate(mapping).scalar_subquery())
    row = context.session.query(*columns, spec).join(
        spec, spec.instance_uuid == mapping.instance_uuid,
    ).filter(mapping.instance_uuid == instance_uuid,
             ).populate_existing().with_for_update().first()
    if row is not None:
        return Locked(row[:-1], row[-1])
    row = context.session.query(*columns).filter(
        mapping.instance_uuid == instance_uuid).with_for_update().first()
    return None if row is None else Locked(row, None)


def held(
    context: nova_context.RequestContext, instance_uuid: str,
    mine: journal.Entry, or_unreadable: bool = False,
) -> Locked | None:
    """Lock a server for who has its attempt; None if that is another by now.

    :param mine: the entry as its holder knows it.
    :param or_unreadable: also if what is stored cannot be read, as long as its
        build request is that of the attempt. Then it can only be buried.
    """
    found = locked(context, instance_uuid)
    if found is None:
        return None
    if found.entry is not None:
        return found if found.entry.holder == mine.holder else None
    if found.spec is None:
        return found if mine.is_unproved else None
    if or_unreadable and found.unreadable and found.is_on_its_way:
        marked = mark(context, found)
        if marked is not None and marked.attempt == mine.attempt:
            return found
    return None


def mark(
    context: nova_context.RequestContext, found: Locked
) -> journal.Entry | None:
    """Return the entry of its attempt as its build request was marked."""
    blob = context.session.query(api_models.BuildRequest.instance).filter_by(
        id=found.build_request_id).scalar()
    return None if blob is None else journal.mark_in(jsonutils.loads(blob))
