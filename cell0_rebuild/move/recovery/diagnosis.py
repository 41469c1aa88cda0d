# SPDX-License-Identifier: Apache-2.0

"""The states in which a crash can leave a server, and how each is told.

================ ============ ========= ======== ===========================
State            build        mapping   row in   what had crashed
                 request               cell0
================ ============ ========= ======== ===========================
on its way       ours         none      any      nova-api after it had moved
                                                 the server, or a conductor
                                                 at any time before the
                                                 hand-over, or while it
                                                 buried the server again
not built        none         real cell hidden   a conductor after the
                                                 hand-over; no compute has
                                                 the server
built            none         real cell any      a conductor before it had
                                                 cleared up; a compute has
                                                 the server, or has failed to
                                                 build it with its volumes
hidden           none         cell0     hidden,  whoever took it back there
                                        or has a
                                        task
deleted          none         none, or  any      nova-api, in a delete; or
                              deleted            one of these states, and its
                                                 owner deleted the server; or
                                                 a database was down then
leftovers        none         cell0     shown    a conductor after it had
                                                 buried the server again: a
                                                 row in a real cell, or
                                                 resources in Placement
leftovers        none         real cell none     a stale conductor, after it
                                                 had created a row in another
                                                 cell all the same
================ ============ ========= ======== ===========================

*Real cell* with no row there counts as not built, unless nothing is in cell0
either. *Cell0* with no row there counts as built if a real cell has a row: its
owner finds it there. Build requests without our record are those of creates,
and a hidden row in a real cell is that of a resize: both are never looked at.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import typing as ty

from nova import exception
from nova import objects
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import builds
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import journal
from cell0_rebuild.move import location
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

_Found = ty.TypeVar('_Found')


class State(enum.Enum):
    """A state that a crash has left."""

    ON_ITS_WAY = 'on its way'
    NOT_BUILT = 'not built'
    BUILT = 'built'
    HIDDEN = 'hidden'
    DELETED = 'deleted'
    LEFTOVERS = 'leftovers'


@dataclasses.dataclass(frozen=True)
class Trace:
    """A row of the server in a real cell."""

    cell: objects.CellMapping
    row: cell_db.Row


@dataclasses.dataclass(frozen=True)
class Stuck:
    """A server that a crash has left halfway.

    :param traces: its rows in real cells, deleted ones left out.
    :param cell: the real cell that it is mapped to, if any; or is to be.
    :param place: where it is; None if nobody knows it any more.
    """

    uuid: str
    state: State
    traces: list[Trace]
    cell: objects.CellMapping | None = None
    place: location.Place | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has leftovers, and lives in another real cell."""
        return (self.state is State.LEFTOVERS and self.place is not None
                and not self.place.in_cell0)


# How often a server is looked at that somebody moves meanwhile.
_LOOKS = 3


class Finder:
    """Tells what is the matter with a server."""

    def __init__(
        self, context: nova_context.RequestContext, before: datetime.datetime,
        has_resources: ty.Callable[[str], bool],
    ) -> None:
        """:param before: what was touched since is in progress.

        :param has_resources: tells whether a server has some in Placement.
        """
        self._context = context
        self._before = before
        self._has_resources = has_resources
        self._down: dict[str, str] = {}
        self._cell0 = cells.cell0(context)
        self._cells = cells.real(context)

    def look(self, uuid: str) -> Stuck | None:
        """Look at a server; None if there is nothing to do for it.

        Nor is there if somebody goes on moving it: what was read of the
        databases does not fit together then.
        """
        for _ in range(_LOOKS):
            seen = self._see(uuid)
            found = self._look(uuid, *seen) or self._strays(uuid, seen[0])
            if seen == self._see(uuid):
                return found and dataclasses.replace(found, place=seen[0])
        return None

    def _see(
        self, uuid: str
    ) -> tuple[location.Place | None, cell_db.Row | None]:
        # A move that is taken back leaves all as it was, but not meanwhile.
        return (self._ask(cells.API, location.place, uuid),
                self._row(uuid, self._cell0))

    def _row(self, uuid: str, cell: objects.CellMapping) -> cell_db.Row | None:
        return self._ask(cells.name(cell), cell_db.find, uuid, cell)

    def _ask(
        self, database: str, read: ty.Callable[..., _Found], *args: ty.Any
    ) -> _Found:
        # Each try to connect can take minutes, and there may be many servers.
        if database not in self._down:
            try:
                return read(self._context, *args)
            except db_exc.DBConnectionError as error:
                self._down[database] = exceptions.text(error)
        raise exceptions.DatabaseDown(f'{database}: {self._down[database]}')

    def has_to_stay(self, uuid: str, trace: Trace) -> bool:
        """Tell whether a server has to stay where it has a row.

        A compute has it, or had it: see :mod:`builds`.
        """
        # Without its row in cell0 nobody knows what is new.
        return trace.row.is_on_host or (
            self._row(uuid, self._cell0) is not None and builds.has_to_stay(
                self._builds(uuid, trace.cell),
                self._builds(uuid, self._cell0)))

    def _look(
        self, uuid: str, place: location.Place | None,
        cell0_row: cell_db.Row | None,
    ) -> Stuck | None:
        # The other rows say nothing of it: updates by the owner write them.
        if place is not None and place.touched >= self._before:
            return None
        if place is not None and place.build_request_id is not None:
            return Stuck(
                uuid, State.ON_ITS_WAY, self._traces(uuid)) if (
                    self._is_ours(uuid)) else None
        if place is None or place.is_deleted:
            return self._deleted(uuid, place, cell0_row)
        if place.in_cell0:
            return self._in_cell0(uuid, cell0_row)
        if cell0_row is not None and cell0_row.deleted:
            cell0_row = None
        return self._in_real_cell(uuid, cell0_row, self._cell(place))

    def _deleted(
        self, uuid: str, place: location.Place | None,
        cell0_row: cell_db.Row | None,
    ) -> Stuck | None:
        if cell0_row is not None and cell0_row.touched >= self._before:
            return None
        if cell0_row is not None and cell0_row.deleted:
            cell0_row = None
        traces = self._traces(uuid)
        retained_at = retained_db.stored_at(self._context, uuid)
        if cell0_row is None and not traces:
            # Nova archives what is left of a server in a cell. A create that
            # is being buried is deleted with a young RequestSpec.
            if retained_at is None or retained_at >= self._before or (
                    place is not None and place.cell_id is not None):
                return None
        # What lists still show may also be Nova's own doing.
        elif retained_at is None and (
                cell0_row is None or not cell0_row.hidden):
            return None
        return Stuck(uuid, State.DELETED, traces)

    def _strays(
        self, uuid: str, place: location.Place | None
    ) -> Stuck | None:
        """Look for rows in real cells that the server is not in.

        Nova leaves none there that never had a host and is shown. One that is
        the only one stays: the mapping may be wrong.
        """
        if place is None or place.cell_id is None or place.in_cell0 or (
                place.touched >= self._before):
            return None
        cell = self._cell(place)
        if cell is None or not (
                place.is_deleted or self._row(uuid, cell) is not None):
            return None
        strays = [trace for trace in self._traces(uuid)
                  if trace.cell.id != place.cell_id
                  and not trace.row.is_on_host and not trace.row.hidden
                  and trace.row.touched < self._before]
        return Stuck(uuid, State.LEFTOVERS, strays) if strays else None

    def _in_cell0(
        self, uuid: str, cell0_row: cell_db.Row | None
    ) -> Stuck | None:
        traces = self._traces(uuid)
        if cell0_row is None:
            return Stuck(
                uuid, State.BUILT, traces, traces[0].cell) if traces else None
        if cell0_row.deleted:
            # nova-api has died before it wrote that to the mapping.
            return Stuck(uuid, State.DELETED, traces) if (
                traces and cell0_row.touched < self._before) else None
        if location.is_returning(cell0_row):
            for trace in traces:
                if self.has_to_stay(uuid, trace):
                    return Stuck(uuid, State.BUILT, traces, trace.cell)
            return Stuck(uuid, State.HIDDEN, traces)
        if traces or self._has_resources(uuid):
            return Stuck(uuid, State.LEFTOVERS, traces)
        return None

    def _in_real_cell(
        self, uuid: str, cell0_row: cell_db.Row | None,
        cell: objects.CellMapping,
    ) -> Stuck | None:
        row = self._row(uuid, cell)
        if row is None:
            return Stuck(
                uuid, State.NOT_BUILT, [], cell) if cell0_row else None
        if row.deleted:
            return Stuck(uuid, State.DELETED, [], cell) if (
                cell0_row and row.touched < self._before) else None
        traces = [Trace(cell, row)]
        if cell0_row is None or self.has_to_stay(uuid, traces[0]):
            if cell0_row is None and not retained_db.is_retained(
                    self._context, uuid):
                return None
            return Stuck(uuid, State.BUILT, traces, cell)
        return Stuck(uuid, State.NOT_BUILT, traces, cell)

    def _is_ours(self, uuid: str) -> bool:
        try:
            build_request = objects.BuildRequest.get_by_instance_uuid(
                self._context, uuid)
        except exception.BuildRequestNotFound:
            return False
        if not journal.is_marked(build_request.instance):
            return False
        # If it cannot be read, whoever is asked to mend it says so.
        api_db.entry(self._context, uuid)
        return True

    def _traces(self, uuid: str) -> list[Trace]:
        found = ((cell, self._row(uuid, cell)) for cell in self._cells)
        return [Trace(cell, row) for cell, row in found
                if row is not None and not row.deleted]

    def _builds(
        self, uuid: str, cell: objects.CellMapping
    ) -> builds.Builds:
        found: builds.Builds = self._ask(
            cells.name(cell), lambda context: builds.read(
                cells.targeted(context, cell), uuid))
        return found

    def _cell(self, place: location.Place) -> objects.CellMapping | None:
        return next((cell for cell in self._cells
                     if cell.id == place.cell_id), None)
