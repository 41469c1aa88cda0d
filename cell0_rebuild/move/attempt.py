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
from oslo_db import exception as db_exc

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import actions
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import deletion
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import stage as stages
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    import collections.abc

    from nova import context as nova_context


@dataclasses.dataclass
class Attempt:
    """A rebuild of a buried server on its way.

    :param uuid: of the server.
    :param record: what was stored on its build request.
    :param stage: how far it has come.
    :param build_request: as the conductor took it, its instance without the
        record; None if it has ended already.
    :param instance: what is built, or what was found of it.
    :param bdms: the same of its block device mappings.
    :param row_watched: what was watched of that row when what its owner has
        changed there was brought to cell0.
    :param row_id: the row that Nova has created in the real cell.
    :param recorded: its failure is in the history of the row in cell0.
    :param notified: the notifications of its failure were sent.
    """

    uuid: str
    record: attempt_record.AttemptRecord
    stage: stages.Stage
    build_request: objects.BuildRequest = None
    instance: objects.Instance = None
    bdms: objects.BlockDeviceMappingList = None
    row_watched: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    row_id: int | None = None
    recorded: bool = False
    notified: bool = False

    @classmethod
    def taken(cls, build_request: objects.BuildRequest) -> Attempt:
        """Return the attempt of a build request that was taken just now.

        :param build_request: with a record, which is taken off.
        """
        instance = build_request.instance
        record = attempt_record.of(instance)
        assert record is not None
        attempt_record.take_off(instance)
        return cls(
            build_request.instance_uuid, record, stages.Stage.TAKEN,
            build_request, instance, build_request.block_device_mappings)

    @classmethod
    def interrupted(
        cls, uuid: str, record: attempt_record.AttemptRecord,
        stage: stages.Stage, there: cell0_copy.Buried, row_id: int | None,
    ) -> Attempt:
        """Return an attempt whose process died after the hand-over.

        :param there: the server as it was read where it has a row: in the
            real cell, or else in cell0.
        :param row_id: its row in the real cell; None if it has none.
        """
        return cls(
            uuid, record, stage, instance=there.instance, bdms=there.bdms,
            row_id=row_id)

    @classmethod
    def on_host(
        cls, uuid: str, record: attempt_record.AttemptRecord, row_id: int
    ) -> Attempt:
        """Return an attempt whose server a compute has: it can be finished.

        :param row_id: its row in the real cell.
        """
        return cls(uuid, record, stages.Stage.HANDED_OVER, row_id=row_id)

    @property
    def handed_over(self) -> bool:
        """Whether the build request has ended in favour of a real cell."""
        return self.stage.is_handed_over

    def reach(self, stage: stages.Stage) -> None:
        """Note a step that was taken.

        :raises ValueError: if there is no such step.
        """
        if not stages.is_step(self.stage, stage):
            raise ValueError(
                f'no attempt that is {self.stage.value} can be {stage.value}')
        self.stage = stage

    @property
    def generation(self) -> str:
        """Tells this attempt from every other."""
        return self.record.generation

    def stale(self) -> exceptions.StaleAttempt:
        """Return what is raised when somebody else has ended it."""
        return exceptions.StaleAttempt(self.uuid, self.generation)


def begin(
    context: nova_context.RequestContext, instance_uuid: str, generation: str,
    host: str, spec: objects.RequestSpec | None = None,
) -> Attempt | None:
    """Take the build request of an attempt.

    If the owner deleted the server meanwhile, what is left of it is removed.

    :param host: the conductor that takes it.
    :param spec: the RequestSpec, to :func:`accept` the attempt with it.
    :returns: None if there is nothing to do: the attempt has ended, another
        conductor has it, or the owner deleted the server meanwhile.
    """
    build_request = api_db.take(
        context, instance_uuid, generation, host, spec)
    if build_request is None:
        deletion.erase(context, instance_uuid)
        return None
    return Attempt.taken(build_request)


def is_on_its_way(instance: objects.Instance) -> bool:
    """Tell whether an instance is that of an attempt's build request."""
    return attempt_record.is_on(instance)


def is_answered(
    context: nova_context.RequestContext, attempt: Attempt
) -> bool:
    """Tell whether the request was answered: nobody waits for the outcome."""
    return bool(api_db.is_answered(
        context, attempt.uuid, attempt.generation))


def accept(
    context: nova_context.RequestContext, attempt: Attempt,
    spec: objects.RequestSpec,
) -> None:
    """Keep what the rebuild changes on the server, even if it fails."""
    attempt.record.accepted = api_db.accept(
        context, attempt.uuid, attempt.generation, spec)


def keep_root_known(
    context: nova_context.RequestContext, attempt: Attempt, is_known: bool
) -> None:
    """Store whether it is known what is on the root volume of the server.

    :raises StaleAttempt: if it is not the current attempt.
    :raises Unreadable: if what is retained cannot be read.
    """
    if not api_db.keep_root_known(
            context, attempt.uuid, attempt.generation, is_known):
        raise attempt.stale()


def is_current(
    context: nova_context.RequestContext, attempt: Attempt,
    next_cell: str | None = None,
) -> bool:
    """Tell whether the attempt still is the current one, and refresh it.

    :param next_cell: the UUID of the real cell in which it is created next.
    """
    return bool(api_db.refresh(
        context, attempt.uuid, attempt.generation, next_cell))


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
    :raises Unreadable: if what is retained cannot be read.
    """
    left = retained_db.left(context, attempt.uuid)
    if not left:
        return
    with held_current(context, attempt, or_deleted=True):
        for uuid in left:
            with contextlib.suppress(exception.CellMappingNotFound):
                cell_db.remove(
                    context, attempt.uuid,
                    objects.CellMapping.get_by_uuid(context, uuid))
        retained_db.keep_left(context, attempt.uuid, fewer=left)


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
                context, attempt.uuid, attempt.generation) and not (
                    or_deleted and location.is_abandoned(
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
        api_db.touch(context, attempt.uuid, cell.id)


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
    attempt.row_id, record = instance.id, attempt.record

    def bring(late: dict[str, ty.Any]) -> None:
        # Nobody else changes the row before the server is mapped to it.
        with contextlib.suppress(exception.InstanceNotFound):
            late_changes.apply(cctxt, instance, bdms, late)

    def last(watched: dict[str, ty.Any]) -> attempt_record.AttemptRecord:
        record.brought = late_changes.changes(record.asked, watched)
        bring(late_changes.changes(late_changes.watched(instance), watched))
        # The build request came after the row in cell0.
        bring({name: value for name, value in late_changes.changes(
            record.baseline, now or {}).items()
            if name not in record.brought})
        return dataclasses.replace(record, baseline=now or record.baseline)
    try:
        is_mapped = api_db.end(
            context, attempt.uuid, attempt.generation,
            None if now is None else cell.id, last)
    except db_exc.DBError:
        attempt.reach(stages.Stage.MAYBE_HANDED_OVER)
        raise
    if not is_mapped or now is None:
        return False
    attempt.reach(stages.Stage.HANDED_OVER)
    record.baseline = now
    return True


def _bring_late(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping, late: dict[str, ty.Any],
) -> None:
    """Bring late changes of the row in cell0 to the real cell.

    What was changed there meanwhile stays: that came later.
    """
    late = late_changes.not_overtaken(
        late, attempt.record.mapped,
        cell_db.watched(context, attempt.uuid, cell))
    cctxt = cells.targeted(context, cell)
    with contextlib.suppress(exception.InstanceNotFound):
        built = cell0_copy.read(cctxt, attempt.uuid)
        late_changes.apply(cctxt, built.instance, built.bdms, late)


def is_deleted(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Tell whether the owner deleted the server of an attempt.

    The build request is gone. If somebody else has moved the server, it has
    another build request, is in another cell, or in another row there.
    """
    place = location.place(context, attempt.uuid)
    return place is None or place.is_abandoned or (
        place.build_request_id is None and is_in(context, attempt, cell))


def is_in(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Tell whether the server is where this attempt has put it."""
    place = location.place(context, attempt.uuid)
    row = cell_db.find(context, attempt.uuid, cell)
    return (place is not None and place.cell_id == cell.id
            and (row.id if row else None) == attempt.row_id
            and _is_last(context, attempt))


def has_row(
    context: nova_context.RequestContext, attempt: Attempt,
    cell: objects.CellMapping,
) -> bool:
    """Tell whether the row of this attempt is in a real cell.

    It does not matter where the server is mapped to.
    """
    row = cell_db.find(context, attempt.uuid, cell)
    return (row is not None and row.id == attempt.row_id
            and _is_last(context, attempt))


def _is_last(
    context: nova_context.RequestContext, attempt: Attempt
) -> bool:
    """Tell whether no later attempt was handed over."""
    # One may get a row with the same ID; see attempt_record.py.
    last = api_db.retained_record(context, attempt.uuid)
    if last is None:
        # Whoever has finished it has removed the record. A recovery knows no
        # generation: a nova-api without this package has dropped the record.
        return not attempt.generation
    return not attempt.handed_over or last.is_of(attempt.generation)


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

    def carry_over(late: dict[str, ty.Any]) -> bool:
        nonlocal is_there
        is_there = is_in(context, attempt, cell)
        if is_there and late:
            _bring_late(context, attempt, cell, late)
        return is_there

    is_deleted = cell0_db.close(
        cells.in_cell0(context), attempt.uuid,
        attempt.record.baseline, carry_over)
    if is_there is None:
        is_there = is_in(context, attempt, cell)
    if is_there:
        if is_deleted:
            deletion.complete(context, attempt.uuid, cell)
            # It has told until now that the server is to be deleted.
            deletion.remove_cell0_row(context, attempt.uuid)
        our_objects.forget(context, attempt.uuid)
    return is_there
