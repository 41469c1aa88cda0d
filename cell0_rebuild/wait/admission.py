# SPDX-License-Identifier: Apache-2.0

"""Whether another server may be sent, as a function of how others have ended.

It reads nothing: it is told who was sent, and what became of them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import time
import typing as ty

from cell0_rebuild.wait import backoff
from cell0_rebuild.wait import broken_hosts
from cell0_rebuild.wait import order
from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import rebuild_state
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import waiting_server as records

if ty.TYPE_CHECKING:
    from oslo_config import cfg

_OTHERS_FIRST = reasons.Reason(
    reasons.Code.ORDER,
    'There is room. The server is tried when those that are being built are '
    'ACTIVE.')

# Most builds have ended by then.
_SLOW = datetime.timedelta(minutes=15)

_State = rebuild_state.State


@dataclasses.dataclass(frozen=True)
class Sent:
    """A server on its way.

    :param at: since when.
    """

    server: records.Waiting
    shape: shape_cache.Shape
    at: datetime.datetime


class Admission:
    """Knows who is on its way. All times are UTC without a time zone."""

    def __init__(
        self, clock: collections.abc.Callable[[], float] = time.monotonic
    ) -> None:
        """:param clock: seconds that never go back."""
        self.on_their_way: dict[str, Sent] = {}
        self._start = pacing.SlowStart()
        self._minute = pacing.PerMinute(clock)
        self._hosts = broken_hosts.BrokenHosts()
        # Of shapes that have room together, and of each of them.
        self._rooms, self._backoff = backoff.Backoff(), backoff.Backoff()
        # Whose builds were the last to fail, since one has landed.
        self._failing: set[str] = set()

    @property
    def stopped(self) -> bool:
        """Whether builds fail on hosts."""
        return self._hosts.stopped

    def mended(self, at: datetime.datetime | None) -> None:
        """Count no builds that failed on hosts before.

        :param at: since when an operator says that hosts are good, or None.
        """
        self._hosts.mended(at)

    def ordered(
        self, servers: list[records.Waiting],
        shapes: collections.abc.Mapping[str, shape_cache.Shape],
    ) -> list[records.Waiting]:
        """Return the servers as they are to be tried.

        Of those that have room together, those whose shape was refused come
        last until one of them lands: filters may take another shape. While
        builds fail on hosts, those of other projects come first: what fails
        may be the image of a project, and not a host.

        :param servers: in their order.
        :param shapes: of each server, by its UUID.
        """
        def room(server: records.Waiting) -> str | None:
            name = str(shapes[server.uuid].room)
            return name if self._rooms.times(name) else None

        def refused(server: records.Waiting) -> int:
            return self._backoff.times(str(shapes[server.uuid]))

        servers = order.stand_back(servers, room, refused)
        if not self.stopped:
            return servers
        return sorted(
            servers, key=lambda server: server.project_id in self._failing)

    def rest(
        self, shape: shape_cache.Shape, now: datetime.datetime
    ) -> reasons.Reason | None:
        """Return why a shape rests; None if it does not."""
        return (self._rooms.reason(str(shape.room), now)
                or self._backoff.reason(str(shape), now))

    def why_not(
        self, shape: shape_cache.Shape, hosts: int,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
        others: collections.abc.Sequence[datetime.datetime] = (),
    ) -> reasons.Reason | None:
        """Return why no other server of a shape may be sent now.

        One that may is counted as requested. What was sent at the same
        moment, of whatever shape, may take the room of a host each.

        :param hosts: how many have room for the shape.
        :param section: the options.
        :param others: since when servers that others sent are on their way.
        """
        rest = self.rest(shape, now)
        if rest is not None:
            return rest
        if self._too_many(now, others):
            return (reasons.Reason(reasons.Code.BROKEN_HOSTS)
                    if self.stopped else _OTHERS_FIRST)
        sent = self.on_their_way.values()
        # The scheduler has taken those that take long.
        alike = sum(one.shape.room == shape.room and one.at + _SLOW > now
                    for one in sent)
        if (sum(one.at == now for one in sent) >= hosts
                or alike >= self._start.allowed(
                    shape.room, section.at_once)
                or not self._minute.take(section.per_minute)):
            return reasons.Reason(reasons.Code.ORDER)
        return None

    def _too_many(
        self, now: datetime.datetime,
        others: collections.abc.Sequence[datetime.datetime],
    ) -> bool:
        """Tell whether too many are on their way, over all shapes.

        Those that take long may be slow, or their hosts may have died. One
        more tells which: if it lands, others follow.
        """
        begun = [*(one.at for one in self.on_their_way.values()), *others]
        slow = not self._hosts.failing and all(
            at + _SLOW <= now for at in begun)
        return len(begun) >= self._hosts.allowed(now) + slow

    def sent(
        self, server: records.Waiting, shape: shape_cache.Shape,
        now: datetime.datetime,
    ) -> None:
        """Note that the rebuild of a server was accepted."""
        self.on_their_way[server.uuid] = Sent(server, shape, now)

    def lost(self, uuid: str) -> Sent:
        """Look no longer at a server on its way, and return it."""
        return self.on_their_way.pop(uuid)

    def settled(
        self, uuid: str, state: rebuild_state.State,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
    ) -> Sent:
        """Note what became of a server, and return it.

        :param section: the options.
        """
        sent = self.lost(uuid)
        if state is _State.LANDED:
            self._start.landed(sent.shape.room, section.at_once)
            self._rooms.end(str(sent.shape.room))
            self._backoff.end(str(sent.shape))
        elif state in (_State.FAILED_ON_HOST, _State.BURIED):
            self._start.refused(sent.shape.room)
        if state is _State.BURIED:
            self._refused(sent.shape, section, now)
        return sent

    def _refused(
        self, shape: shape_cache.Shape, section: cfg.ConfigOpts.GroupAttr,
        now: datetime.datetime,
    ) -> None:
        """Let a shape rest: others of it would be refused likewise.

        Those that have room with it may be taken. They rest too, but no
        longer each time, so that a trial of each does not take long.
        """
        reason = reasons.Reason(reasons.Code.SCHEDULER)
        self._backoff.begin(
            str(shape), reason, now, section.backoff, section.backoff_max)
        self._rooms.begin(
            str(shape.room), reason, now, section.backoff, section.backoff)

    def built(
        self, state: rebuild_state.State, at: datetime.datetime,
        project_id: str = '',
    ) -> None:
        """Note how a build on a host has ended, whoever has sent it.

        :param project_id: of its server, if that matters.
        """
        if state is _State.LANDED:
            self._hosts.landed(at)
            self._failing.clear()
        elif state is _State.FAILED_ON_HOST:
            self._hosts.failed(at)
            self._failing.add(project_id)

    def keep(
        self, shapes: collections.abc.Iterable[shape_cache.Shape]
    ) -> None:
        """Forget how fast servers of other shapes may be sent."""
        self._start.keep({shape.room for shape in shapes})
