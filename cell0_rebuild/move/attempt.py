# SPDX-License-Identifier: Apache-2.0

"""An attempt to rebuild a buried server: what moves it, step by step.

:mod:`out_of_cell0`  nova-api       cell0 -> build request; the row is hidden
:func:`begin`        nova-conductor takes the build request
:func:`hand_over`                   build request -> real cell
:func:`finish`                      the row in cell0 and what was retained go,
                                    or the server, if it was deleted in cell0
:mod:`reburial`                     from any of these back to cell0
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as ty

from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import actions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db

if ty.TYPE_CHECKING:
    import collections.abc

    from nova import context as nova_context


@dataclasses.dataclass
class Attempt:
    """A rebuild of a buried server on its way, as its holder knows it.

    :param uuid: of the server.
    :param entry: what was stored of it when it was looked at last.
    :param build_request: as it was taken, its instance without the mark; None
        if it has ended already.
    :param instance: what is built, or what was found of it.
    :param bdms: the same of its block device mappings.
    :param row_watched: what was watched of that row when what its owner has
        changed there was brought to cell0.
    :param row_id: the row that Nova has created in the real cell.
    :param recorded: its failure is in the history of the row in cell0.
    :param notified: the notifications of its failure were sent.
    """

    uuid: str
    entry: journal.Entry
    build_request: objects.BuildRequest = None
    instance: objects.Instance = None
    bdms: objects.BlockDeviceMappingList = None
    row_watched: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    row_id: int | None = None
    recorded: bool = False
    notified: bool = False

    @classmethod
    def taken(
        cls, build_request: objects.BuildRequest, entry: journal.Entry
    ) -> Attempt:
        """Return the attempt of a build request that was taken just now.

        :param build_request: with a mark, which is taken off.
        """
        instance = build_request.instance
        journal.take_off(instance)
        return cls(
            build_request.instance_uuid, entry, build_request, instance,
            build_request.block_device_mappings)

    @classmethod
    def interrupted(
        cls, uuid: str, entry: journal.Entry,
        there: cell0_copy.Buried | None = None, row_id: int | None = None,
    ) -> Attempt:
        """Return an attempt whose process died after the hand-over.

        :param there: the server as it was read where it has a row: in the
            real cell, or else in cell0; needed to bury it.
        :param row_id: its row in the real cell; None if it has none.
        """
        if there is None:
            return cls(uuid, entry)
        return cls(
            uuid, entry, instance=there.instance, bdms=there.bdms,
            row_id=row_id)

    def stale(self) -> exceptions.StaleAttempt:
        """Return what is raised when somebody else has ended it."""
        return exceptions.StaleAttempt(self.uuid, self.entry.attempt)


def begin(
    context: nova_context.RequestContext, instance_uuid: str, attempt: str,
    spec: objects.RequestSpec | None = None,
) -> Attempt | None:
    """Take the build request of an attempt.

    If the owner deleted the server meanwhile, what is left of it is removed.

    :param attempt: its ID.
    :param spec: the RequestSpec, to :func:`accept` the attempt with it.
    :returns: None if there is nothing to do: the attempt has ended, another
        conductor has it, or the owner deleted the server meanwhile.
    """
    taken = api_db.take(context, instance_uuid, attempt, spec)
    if taken is None:
        deletion.erase(context, instance_uuid)
        return None
    return Attempt.taken(*taken)


def is_on_its_way(instance: objects.Instance) -> bool:
    """Tell whether an instance is that of an attempt's build request."""
    return journal.is_marked(instance)


def is_answered(
    context: nova_context.RequestContext, attempt: Attempt
) -> bool:
    """Tell whether the request was answered: nobody waits for the outcome."""
    found = api_db.entry(context, attempt.uuid)
    return found is not None and (
        found.answered and found.holder == attempt.entry.holder)


def accept(
    context: nova_context.RequestContext, attempt: Attempt,
    spec: objects.RequestSpec,
) -> None:
    """Keep what the rebuild changes on the server, even if it fails."""
    attempt.entry.accepted = api_db.accept(
        context, attempt.uuid, attempt.entry, spec)


def keep_root_known(
    context: nova_context.RequestContext, attempt: Attempt, is_known: bool
) -> None:
    """Store whether it is known what is on the root volume of the server.

    :raises StaleAttempt: if it is not the current attempt.
    :raises Unreadable: if what is retained cannot be read.
    """
    if not api_db.keep_root_known(
            context, attempt.uuid, attempt.entry, is_known):
        raise attempt.stale()


def refresh(
    context: nova_context.RequestContext, attempt: Attempt,
    next_cell: str | None = None,
) -> bool:
    """Make the attempt young; False if it is no longer the current one.

    :param next_cell: the UUID of the real cell in which it is created next.
    """
    found = api_db.refresh(context, attempt.uuid, attempt.entry, next_cell)
    attempt.entry = found or attempt.entry
    return found is not None


def remove_row(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping, row_id: int,
) -> None:
    """Remove a row that Nova has created, unless a compute has it."""
    with contextlib.suppress(exception.ObjectActionError):
        cell_db.remove(context, attempt.uuid, cell, row_id)


def remove_left(
    context: nova_context.RequestContext, attempt: Attempt
) -> None:
    """Remove the rows that former attempts may have left in real cells.

    Nobody finds them any more when the server is in another cell.

    :raises StaleAttempt: if this attempt is not the current one.
    :raises ObjectActionError: if a compute has the server there.
    """
    left = attempt.entry.cells
    if not left:
        return
    with held_current(context, attempt, or_deleted=True):
        for uuid in left:
            with contextlib.suppress(exception.CellMappingNotFound):
                cell_db.remove(
                    context, attempt.uuid,
                    objects.CellMapping.get_by_uuid(context, uuid))
        mapped_db.clear_cells(context, attempt.uuid, attempt.entry, left)


@contextlib.contextmanager
def held_current(
    context: nova_context.RequestContext, attempt: Attempt,
    or_deleted: bool = False,
) -> collections.abc.Iterator[bool]:
    """Keep an attempt the current one, before it is handed over.

    Another service changes something for it inside. The process may stall
    between its look at the databases and that request. Without a lock, an
    operator could bury the server meanwhile, and its owner have it rebuilt.

    :param or_deleted: go on also if the owner deleted the server on its way:
        nobody else works on it then.
    :raises StaleAttempt: if it is not the current one.
    """
    with location.held(context, attempt.uuid):
        if not api_db.is_current(
                context, attempt.uuid, attempt.entry) and not (
                    or_deleted and location.is_deleted_on_its_way(
                        context, attempt.uuid)):
            raise attempt.stale()
        yield True


@contextlib.contextmanager
def held_in_cell(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> collections.abc.Iterator[None]:
    """Keep a server that was handed over in its cell, likewise.

    A recovery that waits for the lock then finds the server young, and leaves
    it alone.

    :raises StaleAttempt: if it is not there, or not by this attempt.
    """
    with location.held(context, attempt.uuid):
        if not is_in(context, attempt, cell):
            raise attempt.stale()
        yield
        mapped_db.touch(context, attempt.uuid, attempt.entry, cell.id)


def hand_over(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping, instance: objects.Instance,
    bdms: objects.BlockDeviceMappingList,
) -> bool:
    """Map the server to a real cell, in place of its build request.

    Its history is copied there before that. What its owner has changed on the
    build request, and late changes of the row in cell0, go with it.

    :param cell: where Nova has created the server.
    :param instance: as Nova sends it to the compute.
    :param bdms: its block device mappings, likewise.
    :returns: False if the owner deleted the server first, or somebody else
        has ended the attempt.
    :raises LostRace: if a request that had read the server in cell0 before
        works on it there.
    :raises Unreadable: if what is retained of the server cannot be read.
    """
    cctxt = cells.targeted(context, cell)
    in_cell0 = cells.in_cell0(context)
    actions.bring(in_cell0, cctxt, attempt.uuid)
    now = cell0_db.watched(in_cell0, attempt.uuid)
    attempt.row_id = instance.id

    def bring(changed: dict[str, ty.Any]) -> None:
        # Nobody else changes the row before the server is mapped to it.
        with contextlib.suppress(exception.InstanceNotFound):
            late_changes.apply(cctxt, instance, bdms, changed)

    def last(entry: journal.Entry, watched: dict[str, ty.Any]) -> None:
        bring(late_changes.changes(late_changes.watched(instance), watched))
        bring(late_changes.late(
            entry.baseline, now or {}, entry.asked, watched))
        entry.baseline = now or entry.baseline
        # No build request tells them.
        entry.asked.update(late_changes.flags_of(entry.baseline))
        attempt.entry = entry
    is_mapped = api_db.end(
        context, attempt.uuid, attempt.entry,
        None if now is None else cell.id, last)
    return is_mapped and now is not None


def _bring_late(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping, in_cell0: dict[str, ty.Any],
) -> None:
    """Bring late changes of the row in cell0 to the real cell.

    :param in_cell0: what is watched of that row at last.
    """
    entry, cctxt = attempt.entry, cells.targeted(context, cell)
    late = late_changes.late(
        entry.baseline, in_cell0, entry.asked,
        cell_db.watched(context, attempt.uuid, cell))
    with contextlib.suppress(exception.InstanceNotFound):
        built = cell0_copy.read(cctxt, attempt.uuid)
        late_changes.apply(cctxt, built.instance, built.bdms, late)


def is_in(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Tell whether the server is where this attempt has put it."""
    place = location.place(context, attempt.uuid)
    return (place is not None and place.cell_id == cell.id
            and place.is_held_by(attempt.entry))


def finish(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> bool:
    """End an attempt whose server a compute has.

    What a recovery would need is removed. If the owner deleted the server in
    cell0 during the hand-over, it is deleted in its cell.

    :param cell: the real cell that the server is in.
    :returns: False if somebody else has moved the server since.
    """
    is_there: bool | None = None

    def carry_over(watched: dict[str, ty.Any]) -> bool:
        nonlocal is_there
        is_there = is_in(context, attempt, cell)
        if is_there and late_changes.changes(attempt.entry.baseline, watched):
            _bring_late(context, attempt, cell, watched)
        return is_there

    is_deleted = cell0_db.close(
        cells.in_cell0(context), attempt.uuid, carry_over)
    if is_there is None:
        is_there = is_in(context, attempt, cell)
    if is_there:
        if is_deleted:
            deletion.complete(context, attempt.uuid, cell)
            # It has told until now that the server is to be deleted.
            deletion.remove_cell0_row(context, attempt.uuid)
        mapped_db.forget(context, attempt.uuid, attempt.entry, cell.id)
    return is_there
