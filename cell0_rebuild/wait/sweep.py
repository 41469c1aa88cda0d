# SPDX-License-Identifier: Apache-2.0

"""One sweep over all servers that wait.

It reads who waits. Then it does what :mod:`decide` says, and decides anew,
until nothing is left to do. At the end it writes why the other servers wait.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import typing as ty

from oslo_log import log as logging

from cell0_rebuild import exceptions
from cell0_rebuild.wait import candidates
from cell0_rebuild.wait import commands
from cell0_rebuild.wait import decide
from cell0_rebuild.wait import ledger as ledgers
from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import protocols
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import times
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

LOG = logging.getLogger(__name__)

# Seconds. The order says who is first, and a minute does not matter to it.
# Where there are many projects, each has its turn.
_SHARE_LIFE = 60.0
# Of the time that Placement may be asked: for what does not find room. So many
# seconds are saved up.
_FIFTH, _SAVED = 0.2, 3.0
# No sweep goes on with requests for longer.
_PASS = 5.0
# To tell what is short takes up to ten questions.
_SHORT_LIFE = 300.0
# How long a question rests that Placement fails for: it may be too hard, and
# the failure may come after a minute.
_FAILED = datetime.timedelta(minutes=5)
# Of a project for which Placement fails: as if its quota were used up.
_UNKNOWN = 1.0

_Item = ty.TypeVar('_Item', bound=collections.abc.Hashable)
_Answer = ty.TypeVar('_Answer')


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
class _Run:
    """What one sweep works with.

    :param checked: whether it was asked if nova-api or Keystone is away.
    :param placement_answers: whether Placement answers, though not all.
    :param waiting: who waits, by the UUIDs.
    """

    section: cfg.ConfigOpts.GroupAttr
    now: values.Now
    result: SweepResult
    stopped: collections.abc.Callable[[], bool]
    checked: bool = False
    placement_answers: bool = False
    waiting: dict[str, values.Waiting] = dataclasses.field(
        default_factory=dict)
    answers: decide.Answers = dataclasses.field(
        default_factory=decide.Answers)


class Sweeper:
    """Sweeps. A new one can take over: all that it remembers is optional."""

    def __init__(
        self, conf: collections.abc.Callable[[], cfg.ConfigOpts.GroupAttr],
        eyes: protocols.Eyes, hands: protocols.Hands,
        teller: protocols.Teller, shower: protocols.Shower,
        clock: collections.abc.Callable[[], values.Now] = times.now,
    ) -> None:
        """:param conf: returns the options, which a signal may change."""
        self._conf, self._clock = conf, clock
        self._eyes, self._hands = eyes, hands
        self._teller, self._shower = teller, shower
        self._ledger = ledgers.Ledger()
        self._shares = times.Expiring[str, float](
            _SHARE_LIFE, lambda: self._clock().seconds)
        self._short = times.Expiring[values.Question, values.Reason](
            _SHORT_LIFE, lambda: self._clock().seconds)
        self._expired: set[str] = set()
        self._extra = times.Allowance(_SAVED)

    def sweep(
        self, result: SweepResult | None = None,
        stopped: collections.abc.Callable[[], bool] = lambda: False,
    ) -> SweepResult:
        """Look at all servers that wait, and request the rebuild of some.

        :param result: is filled and returned. If this raises, it has what was
            done until then.
        :param stopped: whether the sweep is to end early.
        :raises NoApi: if nova-api or Keystone does not answer.
        :raises NoPlacement: if Placement does not.
        """
        run = _Run(self._conf(), self._clock(), result or SweepResult(),
                   stopped)
        self._settle(run)
        seen = self._read(run)
        decision = None
        try:
            while not stopped():
                decision = decide.Decision(
                    seen, run.answers, self._ledger, run.section, run.now)
                # Those that come next are also sooner in the next sweep.
                if decision.command is None or (
                        run.result.request_seconds >= _PASS):
                    break
                self._obey(decision.command, run)
        finally:
            run.result.reasons = (
                decision.reasons() if decision else seen.reasons)
            run.result.without_role = {
                run.waiting[uuid].project_id
                for uuid, reason in run.result.reasons.items()
                if reason is texts.NO_ROLE}
            untold = decision.untold() if decision else set()
            self._teller.publish({
                uuid: reason for uuid, reason in run.result.reasons.items()
                if uuid not in untold})
        return run.result

    def _settle(self, run: _Run) -> None:
        """Note how rebuilds have ended.

        Each is noted before the next server is looked up, because that may
        fail.
        """
        ledger, now = self._ledger, run.now
        for uuid, sent in list(ledger.on_their_way.items()):
            state = self._eyes.state(uuid)
            if not ledger.seen(uuid, state, run.section, now):
                continue
            run.result.ended[uuid] = values.Ended(
                state, now.utc - sent.server.created_at
                if state is values.State.LANDED else None)
        for uuid in ledger.lost(now.utc):
            LOG.warning(
                'The server has been on its way for too long and is no longer '
                'looked at.', instance_uuid=uuid)

    def _learn_builds(self, run: _Run) -> None:
        before = self._ledger.hosts
        self._ledger.learned(self._eyes.builds(
            run.now.utc - ledgers.HISTORY), run.now.utc)
        after = self._ledger.hosts
        if after.stopped and not before.stopped:
            LOG.warning('Builds fail on hosts: one server is tried every half '
                        'hour until one lands.')
        elif before.stopped and not after.stopped:
            LOG.info('A build has succeeded: servers are sent again.')
        for project_id in after.stopped_projects - before.stopped_projects:
            LOG.warning(
                'Builds of project %s fail on hosts: one of its servers is '
                'tried every half hour until one lands.', project_id)
        for project_id in before.stopped_projects - after.stopped_projects:
            LOG.info('A build of project %s has succeeded.', project_id)

    def _read(self, run: _Run) -> decide.Seen:
        """Read who waits, and show it."""
        section, now, result = run.section, run.now, run.result
        census = self._eyes.census()
        result.problems = census.problems
        within = candidates.within_limit(
            census.waiting, section.max_waiting_per_project, now.utc)
        run.waiting = {server.uuid: server for server in within}
        waits = [server for server in run.waiting.values()
                 if server.deadline > now.utc]
        result.oldest_seconds = max((
            (now.utc - server.created_at).total_seconds()
            for server in waits), default=0.0)
        self._shower.update(
            {server.uuid for server in waits
             if server.asked and section.show == 'build'}, census.shown)
        self._teller.load(run.waiting)
        expired = run.waiting.keys() - {server.uuid for server in waits}
        result.expired = sum(
            self._teller.published(uuid) != values.Code.EXPIRED.value
            for uuid in expired - self._expired)
        self._expired = expired
        could, reasons = candidates.ready(
            run.waiting.values(), self._ledger, section, now)
        kinds = self._eyes.kinds(
            [server.uuid for server in _in_turns(could)], run.waiting)
        reasons.update({uuid: kind for uuid, kind in kinds.items()
                        if isinstance(kind, values.Reason)})
        known = {uuid: kind for uuid, kind in kinds.items()
                 if isinstance(kind, values.Kind)}
        self._ledger.recall(
            run.waiting.values(), known, self._teller.published, now)
        queues = candidates.queues(could, known, self._ledger, now)
        shapes = {queue.kind.shape for queue in queues}
        self._ledger.keep_shapes(shapes)
        result.shapes = len(shapes)
        self._short.drop_old()
        self._shares.keep({server.project_id for server in within})
        self._extra.earn(
            now.seconds, section.probe_budget / 100 * _FIFTH)
        run.answers.shares.update(self._shares.items())
        run.answers.old_shares.update(self._shares.old())
        run.answers.short.update(self._short.items())
        return decide.Seen(queues, reasons, self._teller.published)

    def _obey(self, command: commands.Command, run: _Run) -> None:
        """Do what was decided.

        :raises NoApi: if an answer tells of an outage.
        :raises NoPlacement: likewise.
        """
        if isinstance(command, commands.Send):
            self._send(command.requests, run)
        elif isinstance(command, commands.AskRooms):
            self._ask_rooms(command.projects, run)
        elif isinstance(command, commands.AskShares):
            self._ask_shares(command.project_ids, run)
        elif isinstance(command, commands.AskShort):
            self._ask_short(command.questions, run)
        else:
            self._learn_builds(run)
            run.answers.builds = True

    def _send(self, requests: list[values.Request], run: _Run) -> None:
        started = self._clock().seconds
        answers = self._hands.request(
            [request.server for request in requests])
        run.result.request_seconds += self._clock().seconds - started
        failed = None
        for request, answer in zip(requests, answers):
            uuid = request.server.uuid
            if answer.outcome is values.Outcome.NOT_ASKED:
                run.answers.not_asked[uuid] = answer.reason
            else:
                run.result.answers[uuid] = answer
            if answer.outcome in ledgers.NO_ANSWER:
                failed = answer
            self._ledger.answered(request, answer, run.section, run.now)
        if failed is not None and not run.checked:
            run.checked = True
            self._hands.check(failed, self._ledger.accepted)

    def _asked(
        self, item: _Item, ask: collections.abc.Callable[[_Item], _Answer],
        run: _Run,
    ) -> tuple[_Answer | None, float]:
        """Ask Placement; return the answer and how many seconds it took.

        :returns: None if it fails for this question alone.
        :raises NoPlacement: if it fails also for what is no problem to it.
        """
        begun, answer = self._clock().seconds, None
        try:
            answer = ask(item)
        except exceptions.NoPlacement as raised:
            LOG.warning('Placement does not answer about %s: %s', item,
                        raised)
            if not run.placement_answers:
                self._eyes.check_placement()
            run.placement_answers = True
        return answer, self._clock().seconds - begun

    def _ask_rooms(
        self, projects: dict[values.Question, set[str]], run: _Run
    ) -> None:
        """Ask about as many questions as the budget allows.

        What fails takes long. Where it is to be expected, only what is saved
        up is spent on it.
        """
        ledger, result = self._ledger, run.result
        most = pacing.most_seconds(run.section.probe_budget)
        for question, askers in projects.items():
            if run.stopped() or result.probe_seconds >= most:
                break
            now = self._clock().seconds
            fails = ledger.waste.of(question, now) or (
                question not in ledger.rooms
                and all(ledger.waste.of(one, now) for one in askers))
            if fails and not self._extra:
                continue
            room, seconds = self._asked(question, self._eyes.room, run)
            now = self._clock().seconds
            result.probes += 1
            if room is None:
                self._extra.spend(seconds)
                for one in (question, *askers):
                    ledger.waste.charge(one, now)
                ledger.rests.begin(
                    question, texts.PLACEMENT_FAILS, now, _FAILED, _FAILED)
            else:
                result.probe_seconds += seconds
                run.answers.rooms[question] = room
                ledger.rooms[question] = room, now
        run.answers.rooms_end = True
        result.oldest_answer_seconds = max((
            self._clock().seconds - ledger.rooms[question][1]
            for question in projects if question in ledger.rooms),
            default=0.0)

    def _ask_shares(self, project_ids: list[str], run: _Run) -> None:
        """Ask what projects use, while the budget allows it."""
        for project_id in project_ids:
            if self._extra and not run.stopped():
                share, seconds = self._asked(project_id, self._eyes.share, run)
                self._extra.spend(seconds)
                self._shares.put(
                    project_id, _UNKNOWN if share is None else share)
            share = self._shares.get(project_id)
            run.answers.shares[project_id] = (
                _UNKNOWN if share is None else share)
        run.answers.old_shares.clear()

    def _ask_short(self, questions: list[values.Question], run: _Run) -> None:
        """Ask what is short, likewise."""
        for question in questions:
            if run.stopped() or not self._extra:
                break
            reason, seconds = self._asked(question, self._eyes.short, run)
            self._extra.spend(seconds)
            reason = reason or texts.NO_HOST_HAS_ROOM
            self._short.put(question, reason)
            run.answers.short[question] = reason
        run.answers.short_ends = True


def _in_turns(
    servers: collections.abc.Sequence[values.Waiting]
) -> list[values.Waiting]:
    """Return the servers so that one of each project comes in turn.

    To find the kinds of those of one project may take very long.
    """
    count: collections.Counter[str] = collections.Counter()
    places: dict[str, int] = {}
    for server in servers:
        count[server.project_id] += 1
        places[server.uuid] = count[server.project_id]
    return sorted(servers, key=lambda server: (
        -server.priority, places[server.uuid]))
