# SPDX-License-Identifier: Apache-2.0

"""What a sweep does next: a pure step from what is known to a command.

The step is repeated. Each time, what came of the last command is known, too:
answers of Placement are in :class:`known.Answers`, those of nova-api in the
ledger.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime
import functools
import heapq
import math
import typing as ty

from cell0_rebuild.wait import candidates
from cell0_rebuild.wait import commands
from cell0_rebuild.wait import known
from cell0_rebuild.wait import ledger as ledgers
from cell0_rebuild.wait import order
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

# So many rebuilds are requested at the same time, at most.
MOST = 8
# Of so few on their way each is of another project, where there are several.
_FEW = 2
# So many may be open that were not answered in time.
_MOST_OPEN = 32

_Key = tuple[ty.Any, ...]


class Decision:
    """What to do next, and why each server still waits.

    :ivar command: None if nothing is left to do.
    """

    def __init__(
        self, seen: known.Seen, answers: known.Answers, ledger: ledgers.Ledger,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> None:
        """Decide; nothing that is given is changed.

        :param section: the options.
        """
        self._seen, self._answers, self._ledger = seen, answers, ledger
        self._section, self._now = section, now
        self._batch: list[values.Request] = []
        self._waits: dict[int, values.Reason] = {}
        self._short: dict[values.Question, None] = {}
        self._verdicts: dict[values.Kind, values.Reason | None] = {}
        self._full: dict[values.Kind, values.Reason] = {}
        self.command = self._command()

    def _command(self) -> commands.Command | None:
        if not self._answers.rooms_end and (unknown := self._unknown()):
            return commands.AskRooms(unknown)
        with_room = [queue for queue in self._seen.queues
                     if self._has_room(queue)]
        groups = {queue.kind.shape.group for queue in with_room}
        if unknown_groups := {group for group in groups if group is not None
                              and group not in self._answers.groups}:
            return commands.AskGroups(unknown_groups)
        if with_room and not self._answers.builds:
            return commands.AskBuilds()
        # Unknown ones come before old ones.
        projects = sorted({
            queue.project_id for queue in with_room
            if not self._ledger.shares.is_good(
                queue.project_id, self._now.seconds)},
            key=lambda one: (one in self._ledger.shares, one))
        if projects and not self._answers.shares_end and (
                self._section.order == 'fair'
                and not self._ledger.hosts.stopped):
            return commands.AskShares(projects)
        self._fill_batch(with_room)
        if self._batch:
            return commands.Send(self._batch)
        if self._short and not self._answers.short_ends:
            return commands.AskShort(list(self._short))
        return None

    def _unknown(self) -> dict[values.Question, set[str]]:
        """Return the questions that are to be asked, and of which projects.

        Those come first on which nothing was wasted, and of these the one that
        was not asked for the longest time. Then the least is first: there may
        be no room for it.
        """
        projects: dict[values.Question, set[str]] = {}
        for queue in self._seen.queues:
            question = queue.kind.shape.question
            if question not in self._answers.rooms and (
                    self._rest(question) is None):
                projects.setdefault(question, set()).add(queue.project_id)
        waste, now = self._ledger.waste, self._now.seconds
        return dict(sorted(projects.items(), key=lambda item: (
            waste.of(item[0], now),
            min(waste.of(one, now) for one in item[1]),
            self._ledger.rooms.get(item[0], (None, -math.inf))[1],
            item[0].size)))

    def reasons(self) -> dict[str, values.Reason]:
        """Return why each server waits that was not sent by now.

        Whose kind is not known, or about whom nothing was asked, has none.
        """
        found = dict(self._seen.reasons)
        for queue in self._seen.queues:
            reason = self._waits.get(id(queue))
            for server in queue.servers:
                own = self._own_reason(server)
                if server.uuid in self._answers.not_asked:
                    own = self._answers.not_asked[server.uuid]
                elif own is None and (
                        server.uuid not in self._ledger.on_their_way):
                    own = reason
                if own is not None:
                    found[server.uuid] = own
        return found

    def untold(self) -> set[str]:
        """Return the servers of which it has to be asked what is short."""
        return {server.uuid for queue in self._seen.queues
                if queue.kind.shape.question in self._short
                for server in queue.servers}

    def _own_reason(self, server: values.Waiting) -> values.Reason | None:
        return self._rest(server.project_id) or self._rest(server.uuid)

    def _rest(self, who: collections.abc.Hashable) -> values.Reason | None:
        return self._ledger.rests.reason(who, self._now.seconds)

    def _has_room(self, queue: candidates.Queue) -> bool:
        """Tell whether there is room for a queue that does not rest.

        If not, the reason is noted. A message changes only when its code does.
        So Placement is asked what is short only if one of the owners does not
        read this code yet.
        """
        kind, question = queue.kind, queue.kind.shape.question
        if kind not in self._verdicts:
            self._verdicts[kind] = (
                self._rest(question) or self._verdict(kind.shape)
                or self._rest(kind))
        reason = self._verdicts[kind]
        if reason is texts.NO_HOST_HAS_ROOM and (
                question not in self._short
                and question not in self._ledger.short
                and any(self._seen.told(server.uuid) != reason.code.value
                        for server in queue.servers)):
            self._short[question] = None
        if reason is not None:
            self._waits[id(queue)] = reason
        return reason is None

    def _verdict(self, shape: values.Shape) -> values.Reason | None:
        """Return what Placement answered, perhaps in an earlier sweep.

        Only a no may be old.
        """
        room = self._answers.rooms.get(shape.question)
        if room is not None:
            if room and not self._room_of(shape):
                return texts.GROUP_HAS_NO_HOST
            return self._rest(shape) if room else self._no_room(
                shape.question, room)
        old, _ = self._ledger.rooms.get(shape.question, (None, 0.0))
        if old is None:
            return texts.OTHERS_ASKED
        return texts.ITS_TURN if old else self._no_room(shape.question, old)

    def _room_of(self, shape: values.Shape) -> values.Room:
        """Return what Placement has, and what the group leaves of it."""
        members = self._answers.groups.get(shape.group or '')
        room = self._answers.rooms[shape.question]
        return room if members is None else members.narrowed(room)

    def _no_room(
        self, question: values.Question, room: values.Room
    ) -> values.Reason:
        """Return that there is no room, and what is short."""
        return (room.problem or self._ledger.short.get(question)
                or texts.NO_HOST_HAS_ROOM)

    def _fill_batch(self, queues: list[candidates.Queue]) -> None:
        """Note who is sent next, and why the others are not."""
        # Who may not be sent now may not be sent after others either.
        heads = [(self._key(queue, 0), number, 0)
                 for number, queue in enumerate(queues)
                 if self._may_send(queue)]
        heapq.heapify(heads)
        while heads and not self._batch_is_full():
            _, number, place = heapq.heappop(heads)
            queue = queues[number]
            server = queue.servers[place]
            if not self._may_send(queue):
                continue
            if self._is_open(queue.project_id):
                self._waits[id(queue)] = texts.OTHERS_FIRST
                continue
            if not self._is_out(server):
                self._batch.append(values.Request(server, queue.kind))
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
                for request in self._batch))

    @functools.cached_property
    def _open(self) -> set[str]:
        """The projects of requests that were not answered yet."""
        return {sent.server.project_id
                for sent in self._ledger.on_their_way.values() if sent.is_open}

    def _may_send(self, queue: candidates.Queue) -> bool:
        """Tell whether one more of a queue may be sent; if not, note why.

        Those of a kind that is told no are told so again.
        """
        kind = queue.kind
        reason = self._full.get(kind) or self._why_not(kind)
        if reason is not None:
            self._full[kind] = reason
        elif self._is_enough(queue.project_id):
            reason = (texts.PROJECT_FAILS
                      if self._ledger.hosts.failures(queue.project_id)
                      else texts.OTHERS_BUILD)
        if reason is not None:
            self._waits[id(queue)] = reason
        return reason is None

    def _is_enough(self, project_id: str) -> bool:
        """Tell whether no more of a project may be on their way.

        Its builds fail; or only few of all may be, and others want a place.
        """
        allowed = self._ledger.hosts.allowed_of(project_id, self._now.utc)
        if allowed is None and self._bound[1] <= _FEW and self._has_others:
            allowed = 1
        return allowed is not None and allowed <= sum(
            one == project_id for one, _ in self._begun) + sum(
            request.server.project_id == project_id
            for request in self._batch)

    def _batch_is_full(self) -> bool:
        """Tell whether answers come first.

        The others wait to see what becomes of the first of a shape.
        """
        return len(self._batch) == MOST or bool(
            self._batch and (self._ledger.is_narrow or self._ledger.width(
                self._batch[-1].kind, self._section.at_once) == 1))

    def _key(self, queue: candidates.Queue, place: int) -> _Key:
        server, now = queue.servers[place], self._now.seconds
        waste = self._ledger.waste
        return (
            -server.priority,
            # The image of a project may be what fails.
            self._ledger.hosts.failures(queue.project_id),
            self._ledger.is_narrow and self._ledger.away.get(
                queue.project_id, (None, 0.0))[1],
            waste.of(queue.project_id, now), waste.of(queue.kind, now),
            waste.of(server.uuid, now), order.turn(
                server, self._ledger.share(queue.project_id)
                if self._section.order == 'fair' else 0.0))

    def _is_out(self, server: values.Waiting) -> bool:
        return (server.uuid in self._ledger.on_their_way
                or server.uuid in self._answers.not_asked
                or self._own_reason(server) is not None)

    def _why_not(self, kind: values.Kind) -> values.Reason | None:
        """Return why no other server of a kind may be sent now."""
        ledger, shape = self._ledger, kind.shape
        if self._too_many():
            return (texts.BUILDS_FAIL if ledger.hosts.stopped
                    else texts.OTHERS_BUILD)
        alike = self._at_scheduler[shape] + sum(
            request.kind.shape == shape for request in self._batch)
        if (alike >= ledger.width(kind, self._section.at_once)
                or self._is_taken(shape) or self._is_checked(shape.group)
                or len(self._batch) >= self._left_in_minute):
            return texts.OTHERS_FIRST
        return None

    def _is_checked(self, group: str | None) -> bool:
        """Tell whether the host of another member of a group is not certain.

        The scheduler may give two members side by side hosts that their policy
        forbids. The compute notices it late, and one of them is lost.
        """
        return group is not None and group in [
            *(request.kind.shape.group for request in self._batch),
            *(sent.kind.shape.group
              for sent in self._ledger.on_their_way.values()
              if sent.state is not values.State.SPAWNING)]

    @functools.cached_property
    def _without_host(self) -> collections.Counter[values.Shape]:
        """How many of each shape have no host yet.

        The scheduler does not take so long: a conductor may have died.
        """
        return collections.Counter(
            sent.kind.shape for sent in self._sent)

    @functools.cached_property
    def _left_in_minute(self) -> int:
        return self._ledger.left_in_minute(
            self._section.per_minute, self._now.seconds)

    @functools.cached_property
    def _at_scheduler(self) -> collections.Counter[values.Shape]:
        """How many of them nova-api has sent on, as far as is known."""
        return collections.Counter(
            sent.kind.shape for sent in self._sent if not sent.is_open)

    @functools.cached_property
    def _sent(self) -> list[ledgers.Sent]:
        return [sent for sent in self._ledger.on_their_way.values()
                if sent.state is values.State.SENT
                and sent.at + ledgers.SLOW > self._now.utc]

    def _is_taken(self, shape: values.Shape) -> bool:
        """Tell whether all room may be gone to servers without a host.

        Placement does not know yet that they will take some. Servers of a
        group may each need a host of its own.
        """
        room = self._room_of(shape)
        sent = [*self._without_host.elements(), *(
            request.kind.shape for request in self._batch)]
        if shape.group is not None:
            return len(sent) >= room.hosts
        return sum(map(shape.taken_by, sent)) >= room.servers

    def _too_many(self) -> bool:
        """Tell whether too many rebuilds are in progress, over all shapes."""
        begun, allowed = self._bound
        return begun + len(self._batch) >= allowed - (
            bool(self._batch) and allowed > self._ledger.hosts.allowed(
                self._now.utc))

    @functools.cached_property
    def _bound(self) -> tuple[int, int]:
        """How many rebuilds are in progress, and how many may be.

        If all of them take long, builds may be slow, or their hosts may have
        died. One more server tells which: if it lands, others follow.
        """
        hosts, now = self._ledger.hosts, self._now.utc
        slow = not hosts.failing and all(
            at + ledgers.SLOW <= now for _, at in self._begun)
        return len(self._begun), hosts.allowed(now) + slow

    @functools.cached_property
    def _has_others(self) -> bool:
        return len({queue.project_id for queue in self._seen.queues}) > 1

    @functools.cached_property
    def _begun(self) -> list[tuple[str, datetime.datetime]]:
        """The projects of the rebuilds in progress, and when they began."""
        return [*((sent.server.project_id, sent.at)
                  for sent in self._ledger.on_their_way.values()
                  if not sent.is_open),
                *((build.project_id, build.at)
                  for build in self._ledger.others)]
