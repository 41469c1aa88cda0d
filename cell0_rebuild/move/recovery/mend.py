# SPDX-License-Identifier: Apache-2.0

"""Mend what a crash of nova-api, a conductor, the broker or a database left.

See :mod:`diagnosis` for the states. A server that no compute has goes back to
cell0. The rebuild of a server that a compute has is finished.

It is safe to run this while rebuilds are in progress. Every step of a rebuild
refreshes its age, so a rebuild in progress is too young to be touched. A
conductor that hangs and goes on later finds that its attempt is stale: a
recovery first makes itself the holder of the attempt.
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import datetime
import typing as ty

from nova.compute import instance_actions
from nova.compute import utils as compute_utils
from nova import context as nova_context
from nova import exception
from nova import objects
from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild import allocations
from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import journal
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db
from cell0_rebuild.move import reburial
from cell0_rebuild.move.recovery import diagnosis
from cell0_rebuild.move.recovery import search

LOG = logging.getLogger(__name__)

EVENT = 'cell0_rebuild_recover'

_ACTIONS = {
    diagnosis.State.ON_ITS_WAY: 'bury again',
    diagnosis.State.NOT_BUILT: 'bury again',
    diagnosis.State.HIDDEN: 'bury again',
    diagnosis.State.BUILT: 'finish',
    diagnosis.State.DELETED: 'remove what is left',
    diagnosis.State.LEFTOVERS: 'remove leftovers',
}

_HANDED_OVER = (diagnosis.State.NOT_BUILT, diagnosis.State.HIDDEN)


class RebuildInterrupted(exception.NovaException):  # type: ignore[misc]
    """The fault of a server that was recovered."""

    msg_fmt = ('The rebuild was interrupted; the server was recovered by '
               'cell0-rebuild-manage. Rebuild it again.')


class _ChangedMeanwhile(Exception):
    """Somebody has changed the server since it was looked at."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What was found and done.

    :param problem: why it could not be done, or not all of it.
    """

    uuid: str
    state: str
    action: str
    problem: str | None = None


class Recovery:
    """Finds and mends."""

    def __init__(self, before: datetime.datetime) -> None:
        """:param before: what was touched later is in progress."""
        self._before = before
        self._holder = journal.new_id()
        self._context = nova_context.get_admin_context()
        self._resources = allocations.Resources(self._context)
        self._search = search.Search(self._context, before)
        self._finder = diagnosis.Finder(
            self._context, before, self._resources.are_there)

    @property
    def warnings(self) -> list[str]:
        """Return why the run that has ended may have missed something."""
        found = [f'Servers may have been missed. {problem}'
                 for problem in self._search.problems]
        if self._resources.warning is not None:
            found.append(self._resources.warning)
        return found

    def run(
        self, uuids: collections.abc.Iterable[str] | None = None,
        dry_run: bool = False,
    ) -> collections.abc.Iterator[Result]:
        """Find servers that are stuck, and mend each.

        :param uuids: look at these only; at all servers by default.
        :param dry_run: change nothing.
        """
        if uuids is None:
            uuids = self._search
        # A server may be stuck for more than one reason.
        reported = set()
        for uuid in uuids:
            if uuid not in reported and (
                    result := self._one(uuid, dry_run)) is not None:
                reported.add(uuid)
                yield result

    def _one(self, uuid: str, dry_run: bool) -> Result | None:
        try:
            with db_errors.hidden_values():
                stuck = self._finder.look(uuid)
        except (exceptions.DatabaseDown, exceptions.Unreadable) as error:
            LOG.error('The server cannot be looked at. %s', error,
                      instance_uuid=uuid)
            return Result(uuid, 'unknown', 'none', str(error))
        except Exception as error:
            LOG.exception('The server cannot be looked at.',
                          instance_uuid=uuid)
            return Result(uuid, 'unknown', 'none', exceptions.text(error))
        if stuck is None:
            return None
        state, problem = stuck.state, None
        if not dry_run:
            state, problem = self._try_to_mend(stuck)
        return Result(uuid, state.value, _ACTIONS[state], problem)

    def _try_to_mend(
        self, stuck: diagnosis.Stuck
    ) -> tuple[diagnosis.State, str | None]:
        """Return the state that it was in, and why it could not be mended."""
        try:
            with db_errors.hidden_values():
                return self._mend(stuck), None
        except _ChangedMeanwhile:
            problem = 'it was changed meanwhile; run this again later'
        except exceptions.Unreadable as error:
            problem = str(error)
        except exceptions.NoPlacement as error:
            problem = f'its allocations are left: {error}'
        except Exception as error:
            LOG.exception('The server could not be recovered.',
                          instance_uuid=stuck.uuid)
            problem = exceptions.text(error)
        with contextlib.suppress(Exception):
            # What was written where nothing was known of an attempt.
            mapped_db.leave(self._context, stuck.uuid, journal.Entry(
                self._holder, self._holder))
        return stuck.state, problem

    def _mend(self, stuck: diagnosis.Stuck) -> diagnosis.State:
        """Mend a server and return the state that it was in."""
        # A request ID of its own, which tells its event.
        context, state = nova_context.get_admin_context(), stuck.state
        if state is diagnosis.State.BUILT:
            if not self._finish(context, stuck):
                raise _ChangedMeanwhile
        elif state is diagnosis.State.DELETED:
            self._clear(context, stuck)
        elif stuck.is_elsewhere:
            _remove_strays(context, stuck)
        else:
            try:
                self._bury(context, stuck)
            except (exception.ObjectActionError, exception.InstanceNotFound,
                    _ChangedMeanwhile):
                if state not in _HANDED_OVER or not self._finish_taken(
                        context, stuck):
                    raise
                state = diagnosis.State.BUILT
        return state

    def _bury(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> None:
        on_its_way = stuck.state is diagnosis.State.ON_ITS_WAY
        if on_its_way:
            stuck, buried = self._bury_on_its_way(context, stuck)
        elif stuck.state is diagnosis.State.LEFTOVERS:
            buried = True
            with contextlib.suppress(exceptions.Unreadable):
                buried = self._take_over(context, stuck) is not None
        else:
            buried = self._bury_handed_over(context, stuck)
        if buried:
            self._remove_traces(context, stuck)
            self._resources.release(
                stuck.uuid, location.at_rest(context, stuck.uuid))
        elif not location.is_at_rest(context, stuck.uuid):
            raise _ChangedMeanwhile
        elif on_its_way:
            # Its owner has deleted it, or another run has buried it.
            self._clear(context, stuck)

    def _remove_traces(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> None:
        """Remove the rows in real cells that no compute has."""
        for trace in stuck.traces:
            cell_db.remove(context, stuck.uuid, trace.cell, trace.row.id)
        # A later attempt may have begun by now.
        with location.at_rest(context, stuck.uuid) as is_at_rest, (
                contextlib.suppress(exceptions.Unreadable)):
            entry = api_db.entry(context, stuck.uuid)
            if is_at_rest and entry is not None and (
                    entry.holder == self._holder):
                mapped_db.clear_cells(context, stuck.uuid, entry, [
                    cell for cell in entry.cells
                    if not _has_row(context, stuck.uuid, cell)])
                mapped_db.leave(context, stuck.uuid, entry)

    def _clear(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> None:
        for trace in stuck.traces:
            if not trace.row.is_on_host:
                deletion.remove_cell_row(
                    context, stuck.uuid, trace.cell, stuck.place, trace.row.id)
            elif not self._finish(
                    context, dataclasses.replace(stuck, cell=trace.cell)):
                raise cell_db.on_host()
        if stuck.cell is not None:
            deletion.remove_cell0_row(context, stuck.uuid)
            return
        place = location.place(context, stuck.uuid)
        if place is not None and place.is_deleted and place.in_cell0:
            # nova-api has died in its delete there.
            cell_db.delete(context, stuck.uuid, cells.cell0(context))
        deletion.clear(context, stuck.uuid)
        if not any(trace.row.is_on_host for trace in stuck.traces):
            self._resources.release(
                stuck.uuid, location.at_rest(context, stuck.uuid))
        deletion.erase(context, stuck.uuid)

    def _bury_on_its_way(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> tuple[diagnosis.Stuck, bool]:
        for trace in stuck.traces:
            if trace.row.is_on_host:
                raise cell_db.on_host()
        entry = self._take_over(context, stuck)
        if entry is None:
            return stuck, False
        # The conductor may have put the server into a cell until just now.
        stuck = self._finder.look(stuck.uuid) or stuck
        try:
            build_request = objects.BuildRequest.get_by_instance_uuid(
                context, stuck.uuid)
        except exception.BuildRequestNotFound:
            return stuck, False
        return stuck, reburial.bury_again(
            context, attempts.Attempt.taken(build_request, entry),
            _cell_of(stuck), _recorder(stuck.uuid))

    def _bury_handed_over(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> bool:
        try:
            # Before it is taken over: then nobody else would end it.
            there, row_id = _there(context, stuck)
        except exception.InstanceNotFound as error:
            raise _ChangedMeanwhile from error
        entry = self._take_over(context, stuck)
        return entry is not None and reburial.bury_again(
            context, attempts.Attempt.interrupted(
                stuck.uuid, entry, there, row_id),
            stuck.cell or _cell_of(stuck), _recorder(stuck.uuid))

    def _take_over(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> journal.Entry | None:
        """Take the attempt from the process that has died, or is stale now.

        :returns: None if somebody has worked on it since.
        """
        found: journal.Entry | None = api_db.take_over(
            context, stuck.uuid, self._before, self._holder,
            None if stuck.place is None else stuck.place.cell_id)
        return found

    def _finish_taken(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> bool:
        """Finish the rebuild if its conductor or a compute has gone on.

        The conductor has if it has removed the row in cell0.
        """
        is_closed = not cell0_db.is_there(
            cells.in_cell0(context), stuck.uuid)
        for trace in stuck.traces:
            row = cell_db.find(context, stuck.uuid, trace.cell)
            if row is not None and row.id == trace.row.id and (
                    is_closed or self._finder.has_to_stay(
                        stuck.uuid, dataclasses.replace(trace, row=row))):
                return self._finish(
                    context, dataclasses.replace(stuck, cell=trace.cell))
        return False

    def _finish(
        self, context: nova_context.RequestContext, stuck: diagnosis.Stuck
    ) -> bool:
        assert stuck.cell is not None
        entry = self._take_over(context, stuck)
        if entry is None:
            return False
        # A compute may have taken it while it was on its way back to cell0.
        mapped_db.map_back(
            context, stuck.uuid, entry, cells.cell0(context).id,
            stuck.cell.id)
        return attempts.finish(
            context, attempts.Attempt.interrupted(stuck.uuid, entry),
            stuck.cell)


def _cell_of(stuck: diagnosis.Stuck) -> objects.CellMapping | None:
    """Return the real cell that has a row of a server, if any."""
    return stuck.traces[0].cell if stuck.traces else None


def _there(
    context: nova_context.RequestContext, stuck: diagnosis.Stuck
) -> tuple[cell0_copy.Buried, int | None]:
    """Return a server that was handed over, and its row in a real cell."""
    row_id, where = None, cells.cell0(context)
    if stuck.traces:
        row_id, where = stuck.traces[0].row.id, stuck.traces[0].cell
    return cell0_copy.read(
        cells.targeted(context, where), stuck.uuid), row_id


def _remove_strays(
    context: nova_context.RequestContext, stuck: diagnosis.Stuck
) -> None:
    """Remove the rows in cells that the server is not in.

    :raises _ChangedMeanwhile: if it was moved since it was looked at.
    """
    with location.held(context, stuck.uuid):
        if location.place(context, stuck.uuid) != stuck.place:
            raise _ChangedMeanwhile
        for trace in stuck.traces:
            cell_db.remove(context, stuck.uuid, trace.cell, trace.row.id)


def _has_row(
    context: nova_context.RequestContext, uuid: str, cell_uuid: str
) -> bool:
    try:
        cell = objects.CellMapping.get_by_uuid(context, cell_uuid)
    except exception.CellMappingNotFound:
        return False
    return cell_db.find(context, uuid, cell) is not None


def _recorder(uuid: str) -> ty.Callable[[nova_context.RequestContext], None]:
    def record(cctxt: nova_context.RequestContext) -> None:
        try:
            # Without a traceback the event would be a success.
            raise RebuildInterrupted()
        except RebuildInterrupted as caught:
            error = caught
        instance = objects.Instance.get_by_uuid(
            cctxt, uuid, expected_attrs=[])
        objects.InstanceAction.action_start(
            cctxt, uuid, instance_actions.REBUILD, want_result=False)
        objects.InstanceActionEvent.event_start(
            cctxt, uuid, EVENT, want_result=False, host=cfg.CONF.host)
        objects.InstanceActionEvent.event_finish_with_failure(
            cctxt, uuid, EVENT, exc_val=error, exc_tb=error.__traceback__,
            want_result=False)
        compute_utils.add_instance_fault_from_exc(cctxt, instance, error)
    return record
