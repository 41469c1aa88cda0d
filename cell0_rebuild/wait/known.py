# SPDX-License-Identifier: Apache-2.0

"""What is known in one sweep: what it was given, has read, asked and done."""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as ty

from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was read at the beginning of a sweep.

    :param queues: the servers that could be sent.
    :param reasons: why the others wait, by their UUIDs.
    :param told: returns the published code of a server, or None.
    """

    queues: list[candidates.Queue]
    reasons: dict[str, values.Reason]
    told: collections.abc.Callable[[str], values.Code | None]


@dataclasses.dataclass
class Answers:
    """What was answered in this sweep.

    :param rooms: what Placement has; a question that it fails for rests.
    :param rooms_end: whether it is asked about no more of them.
    :param groups: where the members of server groups are.
    :param builds: whether the ledger has learned how builds have ended.
    :param shares_end: whether no more is asked about what projects use.
    :param short_ends: whether no more is asked about what is short.
    :param not_asked: why no rebuild was requested after all, by the UUIDs.
    """

    rooms: dict[values.Question, values.Room] = dataclasses.field(
        default_factory=dict)
    rooms_end: bool = False
    groups: dict[str, values.Members] = dataclasses.field(
        default_factory=dict)
    builds: bool = False
    shares_end: bool = False
    short_ends: bool = False
    not_asked: dict[str, values.Reason | None] = dataclasses.field(
        default_factory=dict)

    def room_of(self, shape: values.Shape) -> values.Room:
        """Return what Placement has, and what the group leaves of it."""
        members = self.groups.get(shape.group or '')
        room = self.rooms[shape.question]
        return room if members is None else members.narrowed(room)


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
    :param asks_in: in how many seconds Placement may be asked again.
    :param has_room: whether it has room for a shape, as far as is known.
    :param oldest_answer_seconds: how old the oldest answer is.
    :param request_seconds: how long the requests for rebuilds took.
    :param oldest_seconds: how long the oldest server has waited.
    :param expired: the number of servers whose time ended since the last
        sweep.
    """

    reasons: dict[str, values.Reason] = dataclasses.field(
        default_factory=dict)
    answers: dict[str, values.Answer] = dataclasses.field(
        default_factory=dict)
    ended: dict[str, values.Ended] = dataclasses.field(
        default_factory=dict)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    without_role: set[str] = dataclasses.field(default_factory=set)
    shapes: int = 0
    probes: int = 0
    probe_seconds: float = 0.0
    asks_in: float = 0.0
    has_room: bool = False
    oldest_answer_seconds: float = 0.0
    request_seconds: float = 0.0
    oldest_seconds: float = 0.0
    expired: int = 0

    def has_moved(self) -> bool:
        """Tell whether a server was sent or has landed."""
        return (any(answer.outcome is values.Outcome.ACCEPTED
                    for answer in self.answers.values())
                or any(ended.state is values.State.LANDED
                       for ended in self.ended.values()))


@dataclasses.dataclass
class Run:
    """What one sweep works with.

    :param checked: whether it was asked if nova-api or Keystone is away.
    :param placement_answers: whether Placement answers, though not all.
    :param unanswered: how often requests were made that got no answer yet.
    :param waiting: who waits, by the UUIDs.
    """

    section: cfg.ConfigOpts.GroupAttr
    now: values.Now
    result: SweepResult
    stopped: collections.abc.Callable[[], bool]
    checked: bool = False
    placement_answers: bool = False
    unanswered: int = 0
    waiting: dict[str, values.Waiting] = dataclasses.field(
        default_factory=dict)
    answers: Answers = dataclasses.field(default_factory=Answers)
