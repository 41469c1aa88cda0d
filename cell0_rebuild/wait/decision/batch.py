# SPDX-License-Identifier: Apache-2.0

"""Which servers are sent next, and why those that have room are not."""

from __future__ import annotations

import collections
import datetime
import functools
import heapq
import typing as ty

from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

# So many rebuilds are requested at the same time, at most.
MOST = 8
# Where there is room for several projects, each may have one of so many parts
# of what may be on its way.
_PARTS = 3
# The scheduler does not take so long: what was sent may be lost.
_SCHEDULED = datetime.timedelta(minutes=2)
# So many may be open that were not answered in time.
_MOST_OPEN = 32

_Key = tuple[ty.Any, ...]


class Batch:
    """The rebuilds that are requested next, at the same time.

    :ivar requests: the first first.
    :ivar waits: why no other server of a queue is sent.
    """

    def __init__(
        self, queues: list[candidates.Queue], has_others: bool,
        answers: known.Answers, ledger: ledgers.Ledger,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> None:
        """Choose; nothing that is given is changed.

        :param queues: for which there is room.
        :param has_others: whether servers of several projects could be sent,
            if there were room.
        :param section: the options.
        """
        self._answers, self._ledger = answers, ledger
        self._section, self._now = section, now
        self._has_others, self._hosts = has_others, ledger.builds.hosts
        self._with_room = {queue.project_id for queue in queues}
        self.requests: list[values.Request] = []
        self.waits: dict[candidates.Queue, values.Reason] = {}
        # By the kind, and whether the project is doubted.
        self._full: dict[tuple[values.Kind, bool], values.Reason] = {}
        self._fill(queues)

    def _fill(self, queues: list[candidates.Queue]) -> None:
        """Note who is sent next, and why the others are not."""
        # Who may not be sent now may not be sent after others either.
        heads = [(self._key(queue, 0), number, 0)
                 for number, queue in enumerate(queues)
                 if self._may_send(queue)]
        heapq.heapify(heads)
        while heads and not self._is_full():
            _, number, place = heapq.heappop(heads)
            queue = queues[number]
            server = queue.servers[place]
            if not self._may_send(queue):
                continue
            if self._is_open(queue.project_id):
                self.waits[queue] = texts.OTHERS_FIRST
                continue
            if not self._is_out(server):
                self.requests.append(values.Request(server, queue.kind))
            if place + 1 < len(queue.servers):
                heapq.heappush(
                    heads, (self._key(queue, place + 1), number, place + 1))

    def _is_open(self, project_id: str) -> bool:
        """Tell whether another request of a project has to be answered first.

        A project that is not known to be served may have one at a time. If
        many are open, only who is known to be served has another one.
        """
        return project_id not in self._ledger.trusted and (
            project_id in self._open or len(self._open) >= _MOST_OPEN or any(
                request.server.project_id == project_id
                for request in self.requests))

    @functools.cached_property
    def _open(self) -> set[str]:
        """The projects of requests that were not answered yet."""
        return {sent.server.project_id
                for sent in self._ledger.on_their_way.values() if sent.is_open}

    def _may_send(self, queue: candidates.Queue) -> bool:
        """Tell whether one more of a queue may be sent; if not, note why.

        Those of a kind that is told no are told so again.
        """
        key = queue.kind, queue.project_id in self._ledger.doubted
        reason = self._full.get(key) or self._why_not(*key)
        if reason is not None:
            self._full[key] = reason
        elif self._is_enough(queue.project_id):
            reason = (texts.PROJECT_FAILS
                      if queue.project_id in self._hosts.stopped_projects
                      else texts.OTHERS_BUILD)
        if reason is not None:
            self.waits[queue] = reason
        return reason is None

    def _is_enough(self, project_id: str) -> bool:
        """Tell whether no more of a project may be on their way.

        Its builds fail; or others want a place, too, and its builds may take
        very long.
        """
        allowed = self._hosts.allowed_of(project_id, self._now.utc)
        if allowed is None:
            allowed = self._share
        return allowed <= self._begun_of[project_id] + sum(
            request.server.project_id == project_id
            for request in self.requests)

    @functools.cached_property
    def _share(self) -> int:
        """How many of a project may be on their way, if its builds succeed."""
        begun, bound = self._bound
        allowed = self._hosts.allowed(self._now.utc)
        if begun >= allowed and bound > allowed:
            # The one more is of whoever has the fewest.
            return 1 + min(
                (self._begun_of[one] for one in self._able), default=0)
        if len(self._able) > 1:
            return max(bound // _PARTS, 1)
        return max(bound - self._has_others, 1)

    @functools.cached_property
    def _able(self) -> set[str]:
        """The projects of which one more could be sent."""
        own = {one: self._hosts.allowed_of(one, self._now.utc)
               for one in self._with_room}
        return {one for one, allowed in own.items()
                if not self._is_open(one)
                and (allowed is None or allowed > self._begun_of[one])}

    @functools.cached_property
    def _begun_of(self) -> collections.Counter[str]:
        return collections.Counter(one for one, _ in self._begun)

    def _is_full(self) -> bool:
        """Tell whether answers come first.

        The others wait to see what becomes of the first of a shape.
        """
        return len(self.requests) == MOST or bool(
            self.requests and (self._ledger.is_narrow or self._ledger.width(
                self.requests[-1].kind, self._section.at_once) == 1))

    def _key(self, queue: candidates.Queue, place: int) -> _Key:
        server, now = queue.servers[place], self._now.seconds
        waste, rests = self._ledger.waste, self._ledger.rests
        return (
            -server.priority,
            # The image of a project may be what fails.
            self._hosts.failures(queue.project_id, self._now.utc),
            self._ledger.is_narrow and self._ledger.away.get(
                queue.project_id, (None, 0.0))[1],
            waste.of(queue.project_id, now), waste.of(queue.kind, now),
            waste.of(server.uuid, now),
            # Else it begins anew when its waste is forgotten.
            rests.times(queue.kind), rests.times(server.uuid),
            order.turn(
                server, self._ledger.share(queue.project_id)
                if self._section.order == 'fair' else 0.0))

    def _is_out(self, server: values.Waiting) -> bool:
        return (server.uuid in self._ledger.on_their_way
                or server.uuid in self._answers.not_asked
                or self._ledger.why_rests(
                    server, self._now.seconds) is not None)

    def _why_not(
        self, kind: values.Kind, is_doubted: bool
    ) -> values.Reason | None:
        """Return why no other server of a kind may be sent now."""
        ledger, shape = self._ledger, kind.shape
        if self._too_many():
            return (texts.BUILDS_FAIL if self._hosts.stopped
                    else texts.OTHERS_BUILD)
        alike = self._at_scheduler[shape] + sum(
            request.kind.shape == shape for request in self.requests)
        if (alike >= ledger.width(kind, self._section.at_once)
                or self._is_taken(shape, is_doubted)
                or self._is_checked(shape.group)
                or len(self.requests) >= self._left_in_minute):
            return texts.OTHERS_FIRST
        return None

    def _is_checked(self, group: str | None) -> bool:
        """Tell whether the host of another member of a group is not certain.

        The scheduler may give two members side by side hosts that their policy
        forbids. The compute notices it late, and one of them is lost.
        """
        return group is not None and group in [
            *(request.kind.shape.group for request in self.requests),
            *(sent.kind.shape.group
              for sent in self._ledger.on_their_way.values()
              if sent.state is not values.State.SPAWNING)]

    @functools.cached_property
    def _left_in_minute(self) -> int:
        return self._ledger.left_in_minute(
            self._section.per_minute, self._now.seconds)

    @functools.cached_property
    def _at_scheduler(self) -> collections.Counter[values.Shape]:
        """How many of each shape nova-api has sent on, as far as is known."""
        return collections.Counter(
            sent.kind.shape for sent in self._sent
            if not sent.is_open and sent.at + _SCHEDULED > self._now.utc)

    @functools.cached_property
    def _sent(self) -> list[values.Sent]:
        """Those that have no host yet, unless a conductor may have died."""
        return [sent for sent in self._ledger.on_their_way.values()
                if sent.state is values.State.SENT
                and sent.at + ledgers.SLOW > self._now.utc]

    def _is_taken(self, shape: values.Shape, is_doubted: bool) -> bool:
        """Tell whether all room may be gone to others.

        Placement did not know yet that they would take some. Servers of a
        group may each need a host of its own. A request that may well be
        refused takes the room of those alone of which that is true as well.
        """
        room = self._answers.room_of(shape)
        sent = [one for one in self._sent if is_doubted or not one.is_doubtful]
        others = [
            *(one.kind.shape for one in (*sent, *self.requests)),
            *self._ledger.claimed(shape.question)]
        if shape.group is not None:
            return len(others) >= room.hosts
        return sum(map(shape.taken_by, others)) >= room.servers

    def _too_many(self) -> bool:
        """Tell whether too many rebuilds are in progress, over all shapes."""
        begun, allowed = self._bound
        return begun + len(self.requests) >= allowed - (
            bool(self.requests)
            and allowed > self._hosts.allowed(self._now.utc))

    @functools.cached_property
    def _bound(self) -> tuple[int, int]:
        """How many rebuilds are in progress, and how many may be.

        If all of them take long, builds may be slow, or their hosts may have
        died. One more server tells which: if it lands, others follow.
        """
        now = self._now.utc
        slow = not self._hosts.failing and bool(self._begun) and all(
            at + ledgers.SLOW <= now for _, at in self._begun)
        return len(self._begun), self._hosts.allowed(now) + slow

    @functools.cached_property
    def _begun(self) -> list[tuple[str, datetime.datetime]]:
        """The projects of the rebuilds in progress, and when they began."""
        return [*((sent.server.project_id, sent.at)
                  for sent in self._ledger.on_their_way.values()
                  if not sent.is_open),
                *((build.project_id, build.at)
                  for build in self._ledger.builds.others)]
