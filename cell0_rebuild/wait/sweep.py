# SPDX-License-Identifier: Apache-2.0

"""One sweep over all servers that wait.

It reads who waits. Then it does what :mod:`decide` says, and decides anew,
until nothing is left to do. At the end it writes why the other servers wait.
"""

from __future__ import annotations

import collections.abc
import typing as ty

from oslo_log import log as logging

from cell0_rebuild.wait import asking
from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait.decision import decide
from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import broken_hosts
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

    from cell0_rebuild.wait.census import eyes
    from cell0_rebuild.wait.effects import hands
    from cell0_rebuild.wait.effects import notices
    from cell0_rebuild.wait.effects import shown_status

LOG = logging.getLogger(__name__)

# Seconds. No sweep goes on with requests for longer.
_PASS = 5.0
# So often it makes requests that get no answer yet.
_UNANSWERED = 3


class Sweeper:
    """Sweeps. A new one can take over: all that it remembers is optional."""

    def __init__(
        self, conf: collections.abc.Callable[[], cfg.ConfigOpts.GroupAttr],
        eyes: eyes.Eyes, hands: hands.Hands,
        teller: notices.Notices, shower: shown_status.ShownStatus,
        clock: collections.abc.Callable[[], values.Now] = times.now,
    ) -> None:
        """:param conf: returns the options, which a signal may change."""
        self._conf, self._clock = conf, clock
        self._eyes, self._hands = eyes, hands
        self._teller, self._shower = teller, shower
        self._ledger = ledgers.Ledger()
        self._asking = asking.Asking(eyes, self._ledger, clock)
        self._expired: set[str] = set()

    def sweep(
        self, result: known.SweepResult | None = None,
        stopped: collections.abc.Callable[[], bool] = lambda: False,
    ) -> known.SweepResult:
        """Look at all servers that wait, and request the rebuild of some.

        :param result: is filled and returned. If this raises, it has what was
            done until then.
        :param stopped: whether the sweep is to end early.
        :raises NoApi: if nova-api or Keystone does not answer.
        :raises NoPlacement: if Placement does not.
        """
        run = known.Run(self._conf(), self._clock(),
                        result or known.SweepResult(), stopped)
        self._settle(run)
        seen = self._read(run)
        decision = self._decide(seen, run)
        try:
            # Those that come next are also sooner in the next sweep.
            while decision.command is not None and not stopped() and (
                    run.result.request_seconds < _PASS
                    and run.unanswered < self._unanswered()):
                self._obey(decision.command, run)
                decision = self._decide(seen, run)
        finally:
            reasons, untold = decision.reasons(), decision.untold()
            run.result.reasons = reasons
            run.result.without_role = {
                run.waiting[uuid].project_id
                for uuid, reason in reasons.items()
                if reason is texts.NO_ROLE}
            self._teller.publish({
                uuid: reason for uuid, reason in reasons.items()
                if uuid not in untold},
                lambda uuid: run.waiting[uuid].project_id)
        return run.result

    def _decide(self, seen: known.Seen, run: known.Run) -> decide.Decision:
        return decide.Decision(
            seen, run.answers, self._ledger, run.section, run.now)

    def _settle(self, run: known.Run) -> None:
        """Note how rebuilds have ended.

        Each is noted before the next server is looked up, because that may
        fail.
        """
        ledger, now = self._ledger, run.now
        self._note([
            (sent, answer) for uuid, answer in self._hands.answered().items()
            if (sent := ledger.on_their_way.get(uuid)) is not None], run)
        for uuid, sent in list(ledger.on_their_way.items()):
            if sent.is_open:
                continue
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

    def _learn_builds(self, run: known.Run) -> None:
        before = self._ledger.builds.hosts
        self._ledger.learned(self._eyes.builds(
            run.now.utc - broken_hosts.HISTORY), run.now.utc)
        after = self._ledger.builds.hosts
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

    def _read(self, run: known.Run) -> known.Seen:
        """Read who waits, show it, and find who of them could be sent."""
        ledger, section, now = self._ledger, run.section, run.now
        census = self._eyes.census()
        run.result.problems = census.problems
        run.waiting = {
            server.uuid: server for server in candidates.within_limit(
                census.waiting, section.max_waiting_per_project, now.utc)}
        self._show(census.shown, run)
        could, reasons = candidates.ready(
            run.waiting.values(), ledger, section, now)
        found = self._eyes.kinds([server.uuid for server in sorted(
            order.in_turns(could, lambda server: server.project_id),
            key=lambda server: -server.priority)], run.waiting)
        reasons.update({uuid: kind for uuid, kind in found.items()
                        if isinstance(kind, values.Reason)})
        kinds = {uuid: kind for uuid, kind in found.items()
                 if isinstance(kind, values.Kind)}
        ledger.recall(
            run.waiting.values(), kinds, self._teller.published, now)
        groups = candidates.grouped(could, kinds)
        ledger.waste.admit(candidates.peers(groups), now.seconds)
        queues = candidates.queues(groups, ledger, now)
        shapes = {queue.kind.shape for queue in queues}
        ledger.keep({server.project_id for server in run.waiting.values()},
                    shapes, now.seconds)
        run.result.shapes = len(shapes)
        self._asking.begin(run)
        return known.Seen(queues, reasons, self._teller.published)

    def _show(
        self, shown: collections.abc.Set[str], run: known.Run
    ) -> None:
        """Show who waits, and count whose time is over.

        :param shown: the servers that are shown as BUILD now.
        """
        now, result = run.now.utc, run.result
        waits = {uuid: server for uuid, server in run.waiting.items()
                 if server.deadline > now}
        result.oldest_seconds = max((
            (now - server.created_at).total_seconds()
            for server in waits.values()), default=0.0)
        self._shower.update(
            {uuid for uuid, server in waits.items()
             if server.asked and run.section.show == 'build'}, shown)
        self._teller.load(run.waiting)
        expired = run.waiting.keys() - waits.keys()
        result.expired = sum(
            self._teller.published(uuid) is not values.Code.EXPIRED
            for uuid in expired - self._expired)
        self._expired = expired

    def _obey(self, command: decide.Command, run: known.Run) -> None:
        """Do what was decided.

        :raises NoApi: if an answer tells of an outage.
        :raises NoPlacement: likewise.
        """
        if isinstance(command, decide.Send):
            self._send(command.requests, run)
        elif isinstance(command, decide.AskRooms):
            self._asking.rooms(command.projects, run)
        elif isinstance(command, decide.AskGroups):
            run.answers.groups.update(self._eyes.groups(command.uuids))
        elif isinstance(command, decide.AskShares):
            self._asking.shares(command.project_ids, run)
        elif isinstance(command, decide.AskShort):
            self._asking.short(command.questions, run)
        else:
            self._learn_builds(run)
            run.answers.builds = True

    def _send(self, requests: list[values.Request], run: known.Run) -> None:
        started = self._clock().seconds
        answers = self._hands.request(
            [request.server for request in requests], run.stopped)
        run.result.request_seconds += self._clock().seconds - started
        run.unanswered += any(
            answer.outcome is values.Outcome.NOT_YET for answer in answers)
        self._note(list(zip(requests, answers)), run)

    def _unanswered(self) -> int:
        """Return how often a sweep may make requests that get no answer yet.

        What comes of them may tell that no more are to be made.
        """
        hosts = self._ledger.builds.hosts
        return 1 if hosts.failing or hosts.stopped else _UNANSWERED

    def _note(
        self, answers: list[tuple[values.Request, values.Answer]],
        run: known.Run,
    ) -> None:
        """Note what was answered to requests.

        :raises NoApi: if others get no answer either.
        """
        failed = None
        for request, answer in answers:
            uuid = request.server.uuid
            if answer.outcome is values.Outcome.NOT_ASKED:
                run.answers.not_asked[uuid] = answer.reason
            elif answer.outcome is not values.Outcome.NOT_YET:
                run.result.answers[uuid] = answer
            if answer.outcome in ledgers.NO_ANSWER:
                failed = answer
            self._ledger.answered(request, answer, run.section, run.now)
        if failed is not None and not run.checked:
            run.checked = True
            self._hands.check(failed, self._ledger.accepted)
