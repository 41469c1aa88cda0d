# SPDX-License-Identifier: Apache-2.0

"""The one memory of the service.

It has what was charged to whom, who rests, how many may be on their way, and
who is. What it remembers is optional: a service that starts begins slowly, and
reads again what Nova knows.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import itertools
import typing as ty

from cell0_rebuild.wait import broken_hosts
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import rests
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from cell0_rebuild.wait import waste

if ty.TYPE_CHECKING:
    from oslo_config import cfg

_Outcome, _State = values.Outcome, values.State

# Most builds end in this time.
SLOW = datetime.timedelta(minutes=15)

# A rebuild that takes longer needs an operator: its conductor may have died.
LOST = datetime.timedelta(hours=1)

# How far back builds are read.
HISTORY = datetime.timedelta(hours=2)

_MINUTE = 60.0
_FIVE_MINUTES = datetime.timedelta(minutes=5)

# What owners read of a refusal, in place of an answer that is for operators.
_TOLD = {
    _Outcome.NO_ROLE: texts.NO_ROLE, _Outcome.NO_ENDPOINT: texts.NO_ENDPOINT,
    _Outcome.AWAY: texts.NO_ANSWER, _Outcome.BUSY: texts.ANOTHER_REQUEST,
    _Outcome.GONE: texts.ANOTHER_REQUEST}
_OF_PROJECTS = (_Outcome.NO_ROLE, _Outcome.NO_ENDPOINT)


@dataclasses.dataclass(frozen=True)
class Sent:
    """A server whose rebuild was accepted.

    :param at: when the sweep began that requested it.
    """

    server: values.Waiting
    kind: values.Kind
    at: datetime.datetime


class Ledger:
    """What the service remembers.

    :ivar on_their_way: the servers that are being rebuilt, by their UUIDs.
    :ivar others: when the rebuilds in progress of other services began.
    :ivar rests: of servers, projects, kinds, shapes and questions.
    :ivar waste: of servers, kinds and projects.
    :ivar hosts: how builds on hosts have ended.
    :ivar failing: the projects whose builds failed since one has landed.
    :ivar requests: tells an outage of nova-api.
    :ivar questions: tells one of Placement.
    """

    def __init__(self) -> None:
        self.on_their_way: dict[str, Sent] = {}
        self.others: list[datetime.datetime] = []
        self.rests, self.waste = rests.Rests(), waste.Waste()
        self.hosts = broken_hosts.BrokenHosts()
        self.failing: set[str] = set()
        self.requests, self.questions = outages.Failures(), outages.Failures()
        self._widths: dict[values.Shape, int] = {}
        self._requested: collections.deque[float] = collections.deque()
        self._noted: dict[str, datetime.datetime] = {}

    def width(self, shape: values.Shape, at_once: int) -> int:
        """Return how many of a shape may be on their way, with those that are.

        Placement sees room that the scheduler may refuse. So it begins with
        one, and doubles with each that lands.
        """
        return min(self._widths.get(shape, 1), at_once)

    def left_in_minute(self, per_minute: int, now: float) -> int:
        """Return how many rebuilds may be requested in this minute."""
        return per_minute - sum(
            then > now - _MINUTE for then in self._requested)

    def keep_shapes(
        self, shapes: collections.abc.Container[values.Shape]
    ) -> None:
        """Forget how many servers of all other shapes may be sent."""
        self._widths = {shape: width for shape, width in self._widths.items()
                        if shape in shapes}

    def answered(
        self, request: values.Request, answer: values.Answer,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> bool:
        """Note what was answered to a request.

        :param section: the options.
        :returns: whether it tells of an outage.
        """
        server, outcome = request.server, answer.outcome
        if outcome is _Outcome.NOT_ASKED:
            if answer.reason is None or (
                    answer.reason.code is values.Code.BLOCKED):
                self.rests.begin(
                    server.uuid, answer.reason or texts.UNREADABLE,
                    now.seconds, section.backoff, section.backoff_max)
            return False
        self._requested.append(now.seconds)
        while self._requested[0] <= now.seconds - _MINUTE:
            self._requested.popleft()
        if outcome in (_Outcome.NO_KEYSTONE, _Outcome.BAD_CREDENTIALS):
            return True
        charged = server.uuid, request.kind, server.project_id
        if outcome is _Outcome.ACCEPTED:
            self.on_their_way[server.uuid] = Sent(
                server, request.kind, now.utc)
            for who in charged:
                self.waste.clear(who)
            self.rests.end(server.uuid)
            self.rests.end(server.project_id)
        else:
            for who in charged:
                self.waste.charge(who, now.seconds)
            self._refused(server, answer, section, now.seconds)
        return self.requests.record(
            server.uuid, outcome in (_Outcome.FAILED, _Outcome.AWAY))

    def _refused(
        self, server: values.Waiting, answer: values.Answer,
        section: cfg.ConfigOpts.GroupAttr, now: float,
    ) -> None:
        """Let a server or its project rest."""
        outcome = answer.outcome
        reason = _TOLD.get(outcome) or values.Reason(
            values.Code.QUOTA if outcome is _Outcome.OVER_QUOTA
            else values.Code.BLOCKED, answer.text)
        longest = section.backoff_max
        if outcome in (_Outcome.OVER_QUOTA, _Outcome.AWAY):
            # An operator may raise a quota, and this refusal costs no
            # scheduler call. A nova-api that was away may be back.
            longest = min(longest, _FIVE_MINUTES)
        who = (server.project_id if outcome in _OF_PROJECTS else server.uuid)
        self.rests.begin(who, reason, now, section.backoff, longest)
        if outcome is _Outcome.OVER_QUOTA:
            # It may have room for a smaller server of the project.
            self.rests.begin(server.project_id, reason, now,
                             section.backoff, section.backoff)

    def ended(
        self, uuid: str, state: values.State,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> None:
        """Note how the rebuild of a server ended.

        :param section: the options.
        """
        sent = self.on_their_way.pop(uuid)
        shape = sent.kind.shape
        if state is _State.LANDED:
            self._widths[shape] = min(
                2 * self.width(shape, section.at_once), section.at_once)
            self.rests.end(shape)
            self.rests.end(sent.kind)
        elif state in (_State.FAILED_ON_HOST, _State.BURIED):
            self._widths.pop(shape, None)
        if state is _State.BURIED:
            self._refused_by_filters(sent, section, now.seconds)
        self._note_build(values.Build(
            uuid, sent.server.project_id, state, now.utc))

    def _refused_by_filters(
        self, sent: Sent, section: cfg.ConfigOpts.GroupAttr, now: float
    ) -> None:
        """Let a kind rest after the scheduler refused a server of it.

        The scheduler would refuse the others too. It may accept other kinds
        of the same shape. These rest as well, but not longer each time: so
        each of them is tried soon.
        """
        for who in (sent.kind, sent.server.project_id):
            self.waste.charge(who, now)
        self.rests.begin(sent.kind, texts.FILTERS_REFUSE, now,
                         section.backoff, section.backoff_max)
        self.rests.begin(sent.kind.shape, texts.FILTERS_REFUSE, now,
                         section.backoff, section.backoff)

    def lost(self, now: datetime.datetime) -> list[str]:
        """Forget the servers that are on their way for too long."""
        uuids = [uuid for uuid, sent in self.on_their_way.items()
                 if sent.at + LOST <= now]
        for uuid in uuids:
            del self.on_their_way[uuid]
        return uuids

    def learned(
        self, builds: collections.abc.Iterable[values.Build],
        now: datetime.datetime,
    ) -> None:
        """Note the builds of a while, whoever requested them."""
        foreign = [build for build in builds
                   if build.uuid not in self.on_their_way]
        self.others = [
            build.at for build in foreign
            if build.state is _State.ON_ITS_WAY and build.at + LOST > now]
        for build in foreign:
            self._note_build(build)
        for uuid in list(itertools.takewhile(
                lambda uuid: self._noted[uuid] < now - HISTORY,
                self._noted)):
            del self._noted[uuid]

    def _note_build(self, build: values.Build) -> None:
        if build.uuid in self._noted:
            return
        if build.state is _State.LANDED:
            self.hosts.landed(build.at)
            self.failing.clear()
        elif build.state is _State.FAILED_ON_HOST:
            self.hosts.failed(build.at)
            self.failing.add(build.project_id)
        else:
            return
        self._noted[build.uuid] = build.at
