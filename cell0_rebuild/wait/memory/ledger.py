# SPDX-License-Identifier: Apache-2.0

"""The one memory of the service.

It has what was charged to whom, who rests, how many may be on their way, and
who is. What it remembers is optional: a service that starts begins slowly, and
reads again what Nova knows.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing as ty

from cell0_rebuild.wait.memory import broken_hosts
from cell0_rebuild.wait.memory import rests
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait.memory import waste
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

_Outcome, _State = values.Outcome, values.State
_ON_HOST = (*values.BUILDING, _State.LANDED, _State.FAILED_ON_HOST)

# Most builds end in this time.
SLOW = datetime.timedelta(minutes=15)

_MINUTE, _DAY = 60.0, 24 * 3600.0
# Seconds. The order says who is first, and a minute does not matter to it.
# Where there are many projects, each has its turn.
_SHARE_LIFE = 60.0
# Of a project for which Placement fails: as if its quota were used up.
UNKNOWN_SHARE = 1.0
# To tell what is short takes up to ten questions.
_SHORT_LIFE = 300.0
_FIVE_MINUTES = datetime.timedelta(minutes=5)

# What owners read of a refusal, in place of an answer that is for operators.
_TOLD = {
    _Outcome.NO_ROLE: texts.NO_ROLE, _Outcome.NO_ENDPOINT: texts.NO_ENDPOINT,
    _Outcome.BUSY: texts.ANOTHER_REQUEST, _Outcome.GONE: texts.ANOTHER_REQUEST}
_OF_PROJECTS = (_Outcome.NO_ROLE, _Outcome.NO_ENDPOINT)

# The codes of what nova-api, or Keystone, has refused.
_REFUSED = (values.Code.BLOCKED, values.Code.QUOTA)

# nova-api or Keystone has not looked at the request.
NO_ANSWER = (_Outcome.FAILED, _Outcome.AWAY, _Outcome.NO_KEYSTONE,
             _Outcome.BAD_CREDENTIALS)
_AWAY = (*NO_ANSWER, _Outcome.LATER)
# That do not make the next request of the project less likely to be accepted.
_HOPEFUL = (_Outcome.ACCEPTED, _Outcome.NOT_YET, _Outcome.BUSY, _Outcome.GONE)
# How long who got no answer rests, at first and at most.
_SOON, _A_MINUTE = datetime.timedelta(seconds=2), datetime.timedelta(minutes=1)

# So many projects that fail alike are not explained by any one of them.
_MANY = 3
# So many vain calls of the scheduler are free, for a project and for a shape.
# After that one costs as much as a server that found a host has earned, of
# which no more is kept.
_CREDITS, _EARNED = 30, 5


class Ledger:
    """What the service remembers.

    :ivar on_their_way: the servers that are being rebuilt, by their UUIDs.
    :ivar rests: of servers, projects, kinds, shapes and questions.
    :ivar waste: of servers, kinds and projects.
    :ivar builds: on hosts, and how they have ended.
    :ivar rooms: the last answers of Placement, and when they came.
    :ivar first_seen: when each question was there first.
    :ivar shares: of the quotas that projects use.
    :ivar short: what is short, where there is no room.
    :ivar accepted: the server whose rebuild was accepted last.
    :ivar trusted: the projects whose last request was accepted.
    :ivar doubted: those of which a request has failed since one was accepted.
    :ivar away: the projects whose requests got no answer since any was
        accepted: the servers, and when that was so last.
    """

    def __init__(self) -> None:
        self.on_their_way: dict[str, values.Sent] = {}
        self.rests, self.waste = rests.Rests(), waste.Waste()
        self.builds = broken_hosts.Builds()
        self.accepted: values.Waiting | None = None
        self.trusted: set[str] = set()
        self.doubted: set[str] = set()
        self.away: dict[str, tuple[set[str], float]] = {}
        self.rooms: dict[values.Question, tuple[values.Room, float]] = {}
        self.first_seen: dict[values.Question, float] = {}
        self.shares = times.Expiring[str, float](_SHARE_LIFE)
        self.short = times.Expiring[values.Question, values.Reason](
            _SHORT_LIFE)
        self._widths: dict[values.Shape, int] = {}
        # What is left.
        self._credits = times.Expiring[
            ty.Union[str, values.Shape], int](_DAY)
        self._requested: list[float] = []
        # Who found a host in the last minute, and when.
        self._claims: list[tuple[values.Shape, float]] = []
        # The projects that filters have refused since one found a host.
        self._refusers: dict[values.Shape, set[str]] = {}
        self._has_recalled = False

    def width(self, kind: values.Kind, at_once: int) -> int:
        """Return how many of a shape may be without a host at a time.

        Placement sees room that the scheduler may refuse. So it begins with
        one, and doubles with each that finds a host. A kind of which the
        scheduler has refused one begins anew; that is no sign for the others.
        """
        if self.rests.times(kind):
            return 1
        return min(self._widths.get(kind.shape, 1), at_once)

    def why_rests(
        self, server: values.Waiting, now: float
    ) -> values.Reason | None:
        """Return why a server or its project rests; None if neither does."""
        return (self.rests.reason(server.project_id, now)
                or self.rests.reason(server.uuid, now))

    def left_in_minute(self, per_minute: int, now: float) -> int:
        """Return how many rebuilds may be requested in this minute."""
        return per_minute - sum(
            then > now - _MINUTE for then in self._requested)

    def claimed(self, question: values.Question) -> list[values.Shape]:
        """Return who has found a host since a question was answered last.

        No answer that is a minute old promises room.
        """
        _, answered_at = self.rooms[question]
        return [shape for shape, at in self._claims if at > answered_at]

    def share(self, project_id: str) -> float:
        """Return the part of its quota that a project uses, perhaps of old.

        If Placement did not tell, it is as if the quota were used up.
        """
        share = self.shares.get(project_id)
        return UNKNOWN_SHARE if share is None else share

    def keep(
        self, projects: collections.abc.Set[str],
        shapes: collections.abc.Set[values.Shape], now: float,
    ) -> None:
        """Forget all others: what they have, and how they were served.

        A shape whose servers all rest is not among them: its credits are
        forgotten after a day.
        """
        self.rests.forget_old(now)
        self.short.drop_old(now)
        self._credits.drop_old(now)
        self._requested = [
            then for then in self._requested if then > now - _MINUTE]
        self._claims = [
            (shape, at) for shape, at in self._claims if at > now - _MINUTE]
        self.shares.keep(projects)
        self.trusted &= projects
        self.doubted &= projects
        self.away = {project_id: away for project_id, away
                     in self.away.items() if project_id in projects}
        questions = {shape.question for shape in shapes}
        self.first_seen = {question: self.first_seen.get(question, now)
                           for question in questions}
        self.rooms = {question: room for question, room in self.rooms.items()
                      if question in questions}
        self._widths = {shape: width for shape, width in self._widths.items()
                        if shape in shapes}
        self._refusers = {
            shape: projects for shape, projects in self._refusers.items()
            if shape in shapes}

    def recall(
        self, waiting: collections.abc.Iterable[values.Waiting],
        kinds: collections.abc.Mapping[str, values.Kind],
        told: collections.abc.Callable[[str], values.Code | None],
        now: values.Now,
    ) -> None:
        """Read what was wasted before this process began, once.

        :param kinds: of those that could be sent, by the UUIDs.
        :param told: returns the published code of a server, or None.
        """
        if self._has_recalled:
            return
        self._has_recalled = True
        for server in waiting:
            since = now.seconds
            if server.tried_at is not None:
                since -= max((now.utc - server.tried_at).total_seconds(), 0)
            elif told(server.uuid) not in _REFUSED:
                continue
            kind = kinds.get(server.uuid)
            for who in (server.uuid, server.project_id,
                        *([] if kind is None else [kind])):
                self.waste.charge(who, since)

    def answered(
        self, request: values.Request, answer: values.Answer,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> None:
        """Note what was answered to a request.

        :param section: the options.
        """
        server, outcome = request.server, answer.outcome
        former = self.on_their_way.pop(server.uuid, None)
        if outcome is _Outcome.NOT_ASKED:
            if former is not None:
                self.doubted.add(server.project_id)
            self._not_asked(server, answer.reason, section, now.seconds)
            return
        if former is None and outcome not in (*_AWAY, *_OF_PROJECTS):
            self._requested.append(now.seconds)
        if outcome not in _HOPEFUL:
            self.doubted.add(server.project_id)
        if outcome in (_Outcome.ACCEPTED, _Outcome.NOT_YET):
            self._note_sent(request, outcome is _Outcome.NOT_YET, now)
        elif outcome in _AWAY:
            self._note_away(
                server, values.Reason(values.Code.AWAY, answer.text)
                if outcome is _Outcome.LATER else texts.NO_ANSWER, now.seconds)
        else:
            for who in (server.uuid, request.kind, server.project_id):
                self.waste.charge(who, now.seconds)
            self.trusted.discard(server.project_id)
            self._refused(server, answer, section, now.seconds)

    def _not_asked(
        self, server: values.Waiting, reason: values.Reason | None,
        section: cfg.ConfigOpts.GroupAttr, now: float,
    ) -> None:
        """Let a server rest if to ask would be in vain."""
        if reason is None or reason.code is values.Code.BLOCKED:
            self.rests.begin(
                server.uuid, reason or texts.UNREADABLE, now,
                section.backoff, section.backoff_max)

    def _note_sent(
        self, request: values.Request, is_open: bool, now: values.Now
    ) -> None:
        """Note that a server is on its way, or perhaps is."""
        server = request.server
        self.on_their_way[server.uuid] = values.Sent(
            server, request.kind, now.utc, is_open=is_open,
            is_doubtful=is_open and server.project_id in self.doubted)
        if is_open:
            self.waste.charge(server.project_id, now.seconds)
            self.trusted.discard(server.project_id)
            return
        self.rests.end(server.uuid)
        self.rests.end(server.project_id)
        self.accepted = server
        self.trusted.add(server.project_id)
        self.doubted.discard(server.project_id)
        self.away.clear()

    def _note_away(
        self, server: values.Waiting, reason: values.Reason, now: float
    ) -> None:
        """Let a server rest whose request got no answer.

        So does its project, if that is so of two of its servers.
        """
        uuids, _ = self.away.get(server.project_id, (set(), now))
        uuids.add(server.uuid)
        self.away[server.project_id] = uuids, now
        self.waste.charge(server.uuid, now)
        self.rests.begin(server.uuid, reason, now, _SOON, _A_MINUTE)
        if len(uuids) > 1:
            self.rests.begin(
                server.project_id, reason, now, _SOON, _A_MINUTE)

    @property
    def is_narrow(self) -> bool:
        """Whether one request is made at a time.

        Nothing was accepted since the requests of three projects got no
        answer.
        """
        return len(self.away) >= _MANY

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
        if outcome is _Outcome.OVER_QUOTA:
            # An operator may raise a quota, and this costs no scheduler call.
            longest = min(longest, _FIVE_MINUTES)
            # It may have room for a smaller server of the project.
            self.rests.begin(server.project_id, reason, now,
                             section.backoff, section.backoff)
        who = (server.project_id if outcome in _OF_PROJECTS else server.uuid)
        self.rests.begin(who, reason, now, section.backoff, longest)

    def seen(
        self, uuid: str, state: values.State,
        section: cfg.ConfigOpts.GroupAttr, now: values.Now,
    ) -> bool:
        """Note where a server is; return whether its rebuild has ended.

        :param section: the options.
        """
        sent = self.on_their_way[uuid]
        if sent.state is _State.SENT and state in _ON_HOST:
            self._found_host(sent, section, now.seconds)
        if state in (_State.SENT, *values.BUILDING):
            self.on_their_way[uuid] = dataclasses.replace(sent, state=state)
            return False
        del self.on_their_way[uuid]
        if state is _State.FAILED_ON_HOST:
            self._widths.pop(sent.kind.shape, None)
        elif state is _State.BURIED:
            self._found_no_host(sent, section, now.seconds)
        return True

    def _found_host(
        self, sent: values.Sent, section: cfg.ConfigOpts.GroupAttr, now: float
    ) -> None:
        """Clear all above a server that found a host."""
        kind, project_id = sent.kind, sent.server.project_id
        for who in (kind.shape, kind, project_id):
            self.rests.end(who)
        for charged in (sent.server.uuid, kind, project_id):
            self.waste.clear(charged)
        self._claims.append((kind.shape, now))
        self._widths[kind.shape] = min(
            2 * self.width(kind, section.at_once), section.at_once)
        self._refusers.pop(kind.shape, None)
        for account in (project_id, kind.shape):
            left = self._left(account)
            self._credits.put(
                account, min(left + 1, max(left, _EARNED)), now)

    def _found_no_host(
        self, sent: values.Sent, section: cfg.ConfigOpts.GroupAttr, now: float
    ) -> None:
        """Charge who was refused by the scheduler.

        It would refuse the others of the kind, too. It may accept other kinds
        of the shape, unless three projects were refused and none found a host
        since: then all that is left may be hosts that are down.
        """
        kind, project_id = sent.kind, sent.server.project_id
        self.rests.begin(kind, texts.FILTERS_REFUSE, now,
                         section.backoff, section.backoff_max)
        # The server is no other than its kind.
        for charged in (kind, project_id):
            self.waste.charge(charged, now)
        refusers = self._refusers.setdefault(kind.shape, set())
        refusers.add(project_id)
        many = len(refusers) >= _MANY
        self._widths[kind.shape] = 1 if many else max(
            self._widths.get(kind.shape, 1) // 2, 1)
        for account, is_out in ((project_id, True), (kind.shape, many)):
            left = max(self._left(account) - 1, 0)
            self._credits.put(account, left, now)
            if is_out and not left:
                self.rests.begin(account, texts.FILTERS_REFUSE, now,
                                 section.backoff, section.backoff)

    def _left(self, account: str | values.Shape) -> int:
        left = self._credits.get(account)
        return _CREDITS if left is None else left

    def lost(self, now: datetime.datetime) -> list[str]:
        """Forget the servers that are on their way for too long."""
        uuids = [uuid for uuid, sent in self.on_their_way.items()
                 if sent.at + broken_hosts.LOST <= now]
        for uuid in uuids:
            del self.on_their_way[uuid]
        return uuids

    def learned(
        self, builds: collections.abc.Iterable[values.Build],
        now: datetime.datetime,
    ) -> None:
        """Note the builds of a while, whoever requested them."""
        self.builds.learn((
            build for build in builds
            if build.uuid not in self.on_their_way), now)
