# SPDX-License-Identifier: Apache-2.0

"""What a sweep does next: a pure step from what is known to a command.

The step is repeated. Each time, what came of the last command is known, too:
answers of Placement are in :class:`known.Answers`, those of nova-api in the
ledger.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import typing as ty

from cell0_rebuild.wait.decision import batch
from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg


# What was never asked has its turn as if it had waited so many seconds longer.
_NEW = 3600.0
# So many times as often it is asked what had room the last time.
_WITH_ROOM = 8


@dataclasses.dataclass(frozen=True)
class AskRooms:
    """Ask Placement for room.

    :param projects: those that each question is asked for, the first first.
    """

    projects: dict[values.Question, set[str]]


@dataclasses.dataclass(frozen=True)
class AskGroups:
    """Ask the cells where the members of server groups are."""

    uuids: set[str]


@dataclasses.dataclass(frozen=True)
class AskBuilds:
    """Ask the cells how builds have ended."""


@dataclasses.dataclass(frozen=True)
class AskShares:
    """Ask Placement what projects use."""

    project_ids: list[str]


@dataclasses.dataclass(frozen=True)
class AskShort:
    """Ask Placement what is short."""

    questions: list[values.Question]


@dataclasses.dataclass(frozen=True)
class Send:
    """Request rebuilds, at the same time."""

    requests: list[values.Request]


Command = ty.Union[
    AskRooms, AskGroups, AskBuilds, AskShares, AskShort, Send]


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
        self._waits: dict[candidates.Queue, values.Reason] = {}
        self._short: dict[values.Question, None] = {}
        self._verdicts: dict[values.Kind, values.Reason | None] = {}
        self.command = self._command()

    def _command(self) -> Command | None:
        if not self._answers.rooms_end and (unknown := self._unknown()):
            return AskRooms(unknown)
        with_room = [queue for queue in self._seen.queues
                     if self._has_room(queue)]
        groups = {queue.kind.shape.group for queue in with_room}
        if unknown_groups := {group for group in groups if group is not None
                              and group not in self._answers.groups}:
            return AskGroups(unknown_groups)
        if with_room and not self._answers.builds:
            return AskBuilds()
        # Unknown ones come before old ones.
        old = sorted({
            queue.project_id for queue in with_room
            if not self._ledger.shares.is_good(
                queue.project_id, self._now.seconds)},
            key=lambda one: (one in self._ledger.shares, one))
        if old and not self._answers.shares_end and (
                self._section.order == 'fair'
                and not self._ledger.builds.hosts.stopped):
            return AskShares(old)
        projects = {queue.project_id for queue in self._seen.queues}
        chosen = batch.Batch(
            with_room, len(projects) > 1, self._answers, self._ledger,
            self._section, self._now)
        self._waits.update(chosen.waits)
        if chosen.requests:
            return Send(chosen.requests)
        if self._short and not self._answers.short_ends:
            return AskShort(list(self._short))
        return None

    def _unknown(self) -> dict[values.Question, set[str]]:
        """Return the questions that are to be asked, and of which projects.

        Those come first on which nothing was wasted. They are dealt in turns
        between projects: who asks for much has each of it asked as much more
        seldom. Who had room the last time is asked more often.
        """
        projects: dict[values.Question, set[str]] = {}
        for queue in self._seen.queues:
            question = queue.kind.shape.question
            if question not in self._answers.rooms and (
                    self._rest(question) is None):
                projects.setdefault(question, set()).add(queue.project_id)
        waste, now = self._ledger.waste, self._now.seconds
        count = collections.Counter(
            one for askers in projects.values() for one in askers)

        def turn(question: values.Question) -> float:
            """Return what is less for a question whose turn is sooner."""
            seen = self._ledger.first_seen.get(question, now)
            room, at = self._ledger.rooms.get(question, (None, seen - _NEW))
            return (at - now) * (_WITH_ROOM if room else 1) / min(
                count[one] for one in projects[question])

        return dict(sorted(projects.items(), key=lambda item: (
            waste.of(item[0], now),
            min(waste.of(one, now) for one in item[1]),
            turn(item[0]))))

    def reasons(self) -> dict[str, values.Reason]:
        """Return why each server waits that was not sent by now.

        Whose kind is not known, or about whom nothing was asked, has none.
        """
        found = dict(self._seen.reasons)
        for queue in self._seen.queues:
            reason = self._waits.get(queue)
            for server in queue.servers:
                own = self._ledger.why_rests(server, self._now.seconds)
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
                and any(self._seen.told(server.uuid) is not reason.code
                        for server in queue.servers)):
            self._short[question] = None
        if reason is not None:
            self._waits[queue] = reason
        return reason is None

    def _verdict(self, shape: values.Shape) -> values.Reason | None:
        """Return what Placement answered, perhaps in an earlier sweep.

        Only a no may be old.
        """
        room = self._answers.rooms.get(shape.question)
        if room is not None:
            if room and not self._answers.room_of(shape):
                return texts.GROUP_HAS_NO_HOST
            return self._rest(shape) if room else self._no_room(
                shape.question, room)
        old, _ = self._ledger.rooms.get(shape.question, (None, 0.0))
        if old is None:
            return texts.OTHERS_ASKED
        return texts.ITS_TURN if old else self._no_room(shape.question, old)

    def _no_room(
        self, question: values.Question, room: values.Room
    ) -> values.Reason:
        """Return that there is no room, and what is short."""
        return (room.problem or self._ledger.short.get(question)
                or texts.NO_HOST_HAS_ROOM)
