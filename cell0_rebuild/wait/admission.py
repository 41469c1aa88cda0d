# SPDX-License-Identifier: Apache-2.0

"""Decides whether another rebuild may be requested now.

The decision depends on the rebuilds that are in progress and on how earlier
ones ended. This module reads nothing itself: its caller records both.
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
from cell0_rebuild.wait import probes
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

# Most builds end in this time.
_SLOW = datetime.timedelta(minutes=15)

_State = rebuild_state.State


@dataclasses.dataclass(frozen=True)
class Sent:
    """A server whose rebuild is in progress.

    :param at: when the sweep began that requested the rebuild.
    """

    server: records.Waiting
    shape: shape_cache.Shape
    at: datetime.datetime


class Admission:
    """Knows the rebuilds in progress. Times are UTC, without a time zone.

    :ivar on_their_way: the servers that are being rebuilt, by their UUIDs.
    """

    def __init__(
        self, clock: collections.abc.Callable[[], float] = time.monotonic
    ) -> None:
        """:param clock: seconds that never go back."""
        self.on_their_way: dict[str, Sent] = {}
        self._start = pacing.SlowStart()
        self._minute = pacing.PerMinute(clock)
        self._hosts = broken_hosts.BrokenHosts()
        # The rests of shapes with the same room, and of each shape.
        self._rooms, self._backoff = backoff.Backoff(), backoff.Backoff()
        # The projects whose builds failed since the last one that landed.
        self._failing: set[str] = set()

    @property
    def stopped(self) -> bool:
        """Whether builds fail on hosts."""
        return self._hosts.stopped

    def hosts_mended(self, at: datetime.datetime | None) -> None:
        """Forget the builds that failed on hosts before a time.

        :param at: when the hosts were mended, as an operator says, or None.
        """
        self._hosts.mended(at)

    def ordered(
        self, servers: list[records.Waiting],
        shapes: collections.abc.Mapping[str, shape_cache.Shape],
    ) -> list[records.Waiting]:
        """Return the servers in the order in which they are tried.

        Several shapes can have the same room. If filters refuse one of them,
        they may accept another. So a shape that was refused comes after the
        others of its room, until one of it lands. While builds fail on hosts,
        servers of other projects come first: the image of a project may be
        what fails.

        :param servers: in their order.
        :param shapes: the shape of each server, by its UUID.
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

    def refusal(
        self, shape: shape_cache.Shape, room: probes.Room,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
        others: collections.abc.Sequence[datetime.datetime] = (),
    ) -> reasons.Reason | None:
        """Return why no other server of a shape may be sent now.

        If one may be sent, the result is None, and it is counted as sent in
        this minute.

        :param room: what Placement has for the shape.
        :param section: the options.
        :param others: when the rebuilds in progress of other services began.
        """
        rest = self.rest(shape, now)
        if rest is not None:
            return rest
        if self._too_many(now, others):
            return (reasons.Reason(reasons.Code.BROKEN_HOSTS)
                    if self.stopped else _OTHERS_FIRST)
        sent = self.on_their_way.values()
        # A build that takes long has passed the scheduler.
        alike = sum(one.shape.room == shape.room and one.at + _SLOW > now
                    for one in sent)
        if (alike >= self._start.allowed(shape.room, section.at_once)
                or self._is_taken(shape, room, now)
                or not self._minute.take(section.per_minute)):
            return reasons.Reason(reasons.Code.ORDER)
        return None

    def _is_taken(
        self, shape: shape_cache.Shape, room: probes.Room,
        now: datetime.datetime,
    ) -> bool:
        """Tell whether all room may be gone to servers of this sweep.

        Servers of a group may each need a host of its own.
        """
        sent = [one.shape for one in self.on_their_way.values()
                if one.at == now]
        if shape.group is not None:
            return len(sent) >= room.hosts
        return sum(map(shape.taken_by, sent)) >= room.servers

    def _too_many(
        self, now: datetime.datetime,
        others: collections.abc.Sequence[datetime.datetime],
    ) -> bool:
        """Tell whether too many rebuilds are in progress, over all shapes.

        If all of them take long, builds may be slow, or their hosts may have
        died. One more server tells which: if it lands, others follow.
        """
        begun = [*(one.at for one in self.on_their_way.values()), *others]
        slow = not self._hosts.failing and all(
            at + _SLOW <= now for at in begun)
        return len(begun) >= self._hosts.allowed(now) + slow

    def has_landed(
        self, shape: shape_cache.Shape, section: cfg.ConfigOpts.GroupAttr
    ) -> bool:
        """Tell whether a server of a shape landed since one was refused.

        :param section: the options.
        """
        return self._start.allowed(shape.room, section.at_once) > 1

    def record_sent(
        self, server: records.Waiting, shape: shape_cache.Shape,
        now: datetime.datetime,
    ) -> None:
        """Note that the rebuild of a server is requested."""
        self.on_their_way[server.uuid] = Sent(server, shape, now)

    def remove(self, uuid: str) -> Sent:
        """Forget a rebuild in progress, and return it."""
        return self.on_their_way.pop(uuid)

    def record_end(
        self, uuid: str, state: rebuild_state.State,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
    ) -> Sent:
        """Note how the rebuild of a server ended, and return it.

        :param section: the options.
        """
        sent = self.remove(uuid)
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
        """Let a shape rest after the scheduler refused a server of it.

        The scheduler would refuse the others too. It may accept other shapes
        of the same room. These rest as well, but not longer each time: so
        each of them is tried soon.
        """
        reason = reasons.Reason(reasons.Code.SCHEDULER)
        self._backoff.begin(
            str(shape), reason, now, section.backoff, section.backoff_max)
        self._rooms.begin(
            str(shape.room), reason, now, section.backoff, section.backoff)

    def record_build(
        self, state: rebuild_state.State, at: datetime.datetime,
        project_id: str = '',
    ) -> None:
        """Note how a build on a host ended, whoever requested it.

        :param project_id: the project of the server, if that matters.
        """
        if state is _State.LANDED:
            self._hosts.landed(at)
            self._failing.clear()
        elif state is _State.FAILED_ON_HOST:
            self._hosts.failed(at)
            self._failing.add(project_id)

    def forget_others(
        self, shapes: collections.abc.Iterable[shape_cache.Shape]
    ) -> None:
        """Forget how many servers of all other shapes may be sent."""
        self._start.forget_others({shape.room for shape in shapes})
