# SPDX-License-Identifier: Apache-2.0

"""One sweep over all servers that wait.

A sweep reads from Nova's databases which servers wait. It asks Placement once
about each shape. It requests rebuilds of servers for which there is room, in
their order, as far as the pace allows. It writes why the other servers wait,
and the status that is shown of them.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import time
import typing as ty

from oslo_utils import timeutils

from cell0_rebuild import exceptions
from cell0_rebuild.wait import backoff
from cell0_rebuild.wait import counters
from cell0_rebuild.wait import eligibility
from cell0_rebuild.wait import hold_reasons
from cell0_rebuild.wait import images
from cell0_rebuild.wait import in_flight
from cell0_rebuild.wait import options
from cell0_rebuild.wait import order
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import parallel
from cell0_rebuild.wait import placement_checks
from cell0_rebuild.wait import project_limit
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import rebuild_state
from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import refusals
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import shares
from cell0_rebuild.wait import waiting_server as records
from cell0_rebuild.wait import wish_options

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

_Outcome = rebuilds.Outcome

# One of these may concern the server alone; several are an outage of nova-api.
_FAILURES = (_Outcome.FAILED, _Outcome.AWAY)

_UNREADABLE = (
    'What operators have decided about the server cannot be read.')


class OwnerNotifier(ty.Protocol):
    """Tells owners why their servers wait; see :class:`notices.Notices`."""

    def load(self, uuids: collections.abc.Collection[str]) -> None:
        """Read what was published of these servers."""

    def published(self, uuid: str) -> str | None:
        """Return the code of the reason that was published of a server."""

    def publish(
        self, reasons_of: collections.abc.Mapping[str, reasons.Reason]
    ) -> int:
        """Publish why servers wait."""


class StatusUpdater(ty.Protocol):
    """Shows servers as BUILD; see :class:`shown_status.ShownStatus`."""

    def update(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        """Show these servers as BUILD, and no others."""


@dataclasses.dataclass
class SweepResult:
    """What a sweep found and did.

    :param reasons: why each server still waits, by its UUID.
    :param answers: the answers to the requested rebuilds, likewise.
    :param ended: how earlier rebuilds ended, likewise.
    :param problems: a sentence about a server, likewise.
    :param without_role: the projects in which the service has no role.
    :param shapes: the number of different shapes among the servers that could
        be tried.
    :param probes: how often Placement was asked for room.
    :param probe_seconds: how long Placement took for that.
    :param request_seconds: how long the requests for rebuilds took.
    :param oldest_seconds: how long the oldest server has waited.
    :param expired: the number of servers whose time ended since the last
        sweep.
    :param landed_without_room: the number of servers that became ACTIVE
        although Placement had no room for them when it was asked last.
    """

    reasons: dict[str, reasons.Reason] = dataclasses.field(
        default_factory=dict)
    answers: dict[str, rebuilds.Answer] = dataclasses.field(
        default_factory=dict)
    ended: dict[str, in_flight.Ended] = dataclasses.field(
        default_factory=dict)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    without_role: set[str] = dataclasses.field(default_factory=set)
    shapes: int = 0
    probes: int = 0
    probe_seconds: float = 0.0
    request_seconds: float = 0.0
    oldest_seconds: float = 0.0
    expired: int = 0
    landed_without_room: int = 0

    def has_moved(self) -> bool:
        """Tell whether a server was sent or has landed."""
        return (any(answer.outcome is _Outcome.ACCEPTED
                    for answer in self.answers.values())
                or any(ended.state is rebuild_state.State.LANDED
                       for ended in self.ended.values()))


class Sweeper:
    """Sweeps. A new one can take over: all that it remembers is optional."""

    def __init__(
        self, context: nova_context.RequestContext, conf: cfg.ConfigOpts,
        requester: parallel.RebuildRequester, notifier: OwnerNotifier,
        updater: StatusUpdater,
        clock: ty.Callable[[], datetime.datetime] = timeutils.utcnow,
    ) -> None:
        """:param context: an administrator's."""
        self._context, self._conf = context, conf
        self._requester, self._notifier = requester, notifier
        self._updater, self._clock = updater, clock
        self._shapes = shape_cache.ShapeCache(context)
        self._checks = placement_checks.PlacementChecks(context)
        self._backoff = backoff.Backoff()
        self._in_flight = in_flight.InFlight(context)
        self._failures = outages.Failures()
        self._shares = shares.Shares(context)
        self._landed_without_room = counters.LandedWithoutRoom(
            context, self._in_flight.cells)
        self._expired = counters.ExpiredServers()

    def sweep(
        self, result: SweepResult | None = None,
        stopped: ty.Callable[[], bool] = lambda: False,
    ) -> SweepResult:
        """Look at all servers that wait, and request the rebuild of some.

        :param result: is filled and returned. If this raises, it has what was
            done until then.
        :param stopped: whether the sweep is to end early.
        :raises NoApi: if nova-api or Keystone does not answer.
        :raises NoPlacement: if Placement does not.
        """
        now, result = self._clock(), result or SweepResult()
        section = self._conf[options.GROUP.name]
        for uuid, ended in self._in_flight.settle(section, now):
            result.ended[uuid] = ended
        census = eligibility.take(
            self._context, wish_options.site(self._conf))
        result.problems = census.problems
        waiting = {server.uuid: server for server in project_limit.within(
            census.waiting, section.max_waiting_per_project, now)}
        result.oldest_seconds = max((
            (now - server.created_at).total_seconds()
            for server in waiting.values() if server.deadline > now),
            default=0.0)
        self._updater.update(
            _to_show(waiting.values(), section, now), census.shown)
        self._notifier.load(waiting)
        result.landed_without_room = self._landed_without_room.count(waiting)
        result.expired = self._expired.count(
            {server.uuid for server in waiting.values()
             if server.deadline <= now}, self._is_published_as_expired)
        self._shapes.forget_others(waiting)
        self._checks.begin()
        ready = []
        for server in waiting.values():
            reason = self._reason_to_wait(server, section, now)
            if reason is not None:
                result.reasons[server.uuid] = reason
                if reason is refusals.NO_ROLE:
                    result.without_role.add(server.project_id)
            elif not self._in_flight.has(server.uuid):
                ready.append(server)
        try:
            self._send(ready, section, now, result, stopped)
        finally:
            self._notifier.publish(result.reasons)
            result.probes = self._checks.count
            result.probe_seconds = self._checks.seconds
        return result

    def _is_published_as_expired(self, uuid: str) -> bool:
        return self._notifier.published(uuid) == reasons.Code.EXPIRED.value

    def _reason_to_wait(
        self, server: records.Waiting, section: cfg.ConfigOpts.GroupAttr,
        now: datetime.datetime,
    ) -> reasons.Reason | None:
        """Return why a server waits even if there is room; None if not."""
        return (hold_reasons.reason(server, section, now)
                or self._backoff.reason(server.project_id, now)
                or self._backoff.reason(server.uuid, now))

    def _send(
        self, ready: list[records.Waiting], section: cfg.ConfigOpts.GroupAttr,
        now: datetime.datetime, result: SweepResult,
        stopped: ty.Callable[[], bool],
    ) -> None:
        by_shape = self._by_shape(ready, now, result)
        self._in_flight.forget_others(by_shape)
        result.shapes = len({shape.room for shape in by_shape})
        with_room = self._with_room(by_shape, now, result, stopped)
        if not with_room:
            return
        ordered = order.ordered(section.order, with_room, (
            {} if section.order == 'fifo' or self._in_flight.stopped(now)
            else self._shares.of({server.project_id for server in with_room})))
        shape_of = {server.uuid: shape for shape, servers in by_shape.items()
                    for server in servers}
        ordered = order.stand_back(
            ordered, self._refused_project,
            lambda server: self._backoff.times(server.uuid))
        batch: list[parallel.Request] = []
        for server in self._failures.ordered(
                self._in_flight.ordered(ordered, shape_of, now),
                lambda server: server.uuid):
            if stopped():
                break
            shape = shape_of[server.uuid]
            try:
                request = self._admit(server, shape, section, now, result)
            except Exception:
                # They have not been requested.
                self._in_flight.withdraw(one.server for one in batch)
                raise
            if request is None:
                continue
            batch.append(request)
            # The others wait to see what becomes of the first of a shape.
            if (len(batch) == parallel.MOST
                    or not self._in_flight.has_landed(shape, section)):
                self._request(batch, section, now, result)
                batch = []
        self._request(batch, section, now, result)

    def _with_room(
        self, by_shape: dict[shape_cache.Shape, list[records.Waiting]],
        now: datetime.datetime, result: SweepResult,
        stopped: ty.Callable[[], bool],
    ) -> list[records.Waiting]:
        """Return the servers that have room and whose shapes do not rest.

        :raises NoPlacement: if it does not answer.
        """
        with_room: list[records.Waiting] = []
        for shape, failure in self._checks.ask(by_shape, now, stopped).items():
            servers = by_shape[shape]
            uuids = [server.uuid for server in servers]
            reason = failure
            if failure is None and self._checks.room(shape):
                self._landed_without_room.note_room(uuids)
                reason = self._in_flight.rest(shape, now)
            elif failure is None:
                self._landed_without_room.note_no_room(uuids)
                result.reasons.update(
                    self._capacity_reasons(shape, servers, now))
                continue
            if reason is None:
                with_room += servers
            else:
                result.reasons.update(dict.fromkeys(uuids, reason))
        return with_room

    def _refused_project(self, server: records.Waiting) -> str | None:
        """Return the project of a server, if it was refused.

        It is None if a rebuild of the project was accepted since.
        """
        project_id = server.project_id
        return project_id if self._backoff.times(project_id) else None

    def _by_shape(
        self, ready: list[records.Waiting], now: datetime.datetime,
        result: SweepResult,
    ) -> dict[shape_cache.Shape, list[records.Waiting]]:
        """Return the servers of each shape.

        A server is left out if its shape is not known in time.
        """
        by_shape = collections.defaultdict(list)
        known = self._shapes.of([server.uuid for server in sorted(
            ready, key=lambda server: -server.priority)], now)
        for server in ready:
            shape = known.get(server.uuid)
            if isinstance(shape, shape_cache.Shape):
                by_shape[shape].append(server)
            elif shape is not None:
                result.reasons[server.uuid] = shape
        return by_shape

    def _capacity_reasons(
        self, shape: shape_cache.Shape, servers: list[records.Waiting],
        now: datetime.datetime,
    ) -> dict[str, reasons.Reason]:
        """Return the reasons of servers of a shape that has no room.

        A message changes only when its code does. So Placement is asked what
        is short only if one of the owners does not read this code yet.
        """
        code = reasons.Code.CAPACITY
        reason = reasons.Reason(code)
        if any(self._notifier.published(server.uuid) != code.value
               for server in servers):
            reason = self._checks.shortage(shape, now)
        return {server.uuid: reason for server in servers}

    def _admit(
        self, server: records.Waiting, shape: shape_cache.Shape,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
        result: SweepResult,
    ) -> parallel.Request | None:
        """Return the request for the rebuild of a server.

        It counts as sent. If the server may not be sent now, the result is
        None, and the reason is noted.
        """
        reason = (self._reason_to_wait(server, section, now)
                  or self._in_flight.refusal(
                      shape, self._checks.room(shape), section, now))
        if reason is not None:
            result.reasons[server.uuid] = reason
            return None
        try:
            image_id = images.to_name(self._context, server.uuid)
        except images.Unknown as error:
            result.reasons[server.uuid] = refusals.block(
                self._backoff, server, str(error), section, now)
            return None
        if not self._may_still_go(server, section, now, result):
            return None
        self._in_flight.record_sent(server, shape, now)
        return parallel.Request(server, shape, image_id)

    def _may_still_go(
        self, server: records.Waiting, section: cfg.ConfigOpts.GroupAttr,
        now: datetime.datetime, result: SweepResult,
    ) -> bool:
        """Tell whether operators let a server go; if it waits on, note why."""
        # They may have decided something since the sweep began.
        renewed = eligibility.renewed(self._context, server)
        if renewed is None:
            # If its waiting has ended, nobody reads this.
            refusals.block(self._backoff, server, _UNREADABLE, section, now)
            return False
        reason = hold_reasons.reason(renewed, section, now)
        if reason is not None:
            result.reasons[server.uuid] = reason
        return reason is None

    def _request(
        self, batch: list[parallel.Request],
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
        result: SweepResult,
    ) -> None:
        """Request rebuilds that were admitted, and note the answers.

        :raises NoApi: if an answer tells of an outage.
        """
        if not batch:
            return
        accepted: set[str] = set()
        started = time.monotonic()
        try:
            answers = parallel.answers(self._requester, batch)
            accepted = {
                request.server.uuid for request, answer in zip(batch, answers)
                if answer.outcome is _Outcome.ACCEPTED}
        finally:
            self._in_flight.withdraw(
                request.server for request in batch
                if request.server.uuid not in accepted)
        result.request_seconds += time.monotonic() - started
        result.answers.update(
            (request.server.uuid, answer)
            for request, answer in zip(batch, answers))
        error: exceptions.NoApi | None = None
        for request, answer in zip(batch, answers):
            try:
                self._process_answer(request.server, answer, section, now,
                                     result)
            except exceptions.NoApi as outage:
                error = outage
        if error is not None:
            raise error

    def _process_answer(
        self, server: records.Waiting, answer: rebuilds.Answer,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
        result: SweepResult,
    ) -> None:
        """Note what was answered.

        :raises NoApi: if the answer tells of an outage.
        """
        if answer.outcome in (_Outcome.NO_KEYSTONE, _Outcome.BAD_CREDENTIALS):
            raise exceptions.NoApi(answer.text, answer.outcome.value)
        if answer.outcome is _Outcome.NO_ROLE:
            result.without_role.add(server.project_id)
        if answer.outcome is _Outcome.ACCEPTED:
            self._backoff.end(server.uuid)
            self._backoff.end(server.project_id)
        reason = refusals.rest(self._backoff, server, answer, section, now)
        outage = self._failures.record(
            server.uuid, answer.outcome in _FAILURES)
        if outage:
            raise exceptions.NoApi(answer.text, answer.outcome.value)
        if reason is not None:
            result.reasons[server.uuid] = reason


def _to_show(
    waiting: collections.abc.Iterable[records.Waiting],
    section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
) -> set[str]:
    """Return the servers that are to be shown as BUILD."""
    if section.show != 'build':
        return set()
    return {server.uuid for server in waiting
            if server.asked and server.deadline > now}
