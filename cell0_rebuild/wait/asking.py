# SPDX-License-Identifier: Apache-2.0

"""Asks Placement, within its budget."""

from __future__ import annotations

import collections.abc
import datetime
import heapq
import operator
import typing as ty

from oslo_log import log as logging

from cell0_rebuild import exceptions
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from cell0_rebuild.wait.census import eyes

LOG = logging.getLogger(__name__)

# Of the time that Placement may be asked: what more is for what does not find
# room, and the same for what fails. So many seconds are saved up.
_FIFTH, _SAVED = 0.2, 3.0
# Seconds for which room that was found is good. A sweep can last as long.
_FRESH = 5.0
# How long a question rests that Placement fails for: it may be too hard, and
# the failure may come after a minute.
_FAILED = datetime.timedelta(minutes=5)
# With so many that have no room each question is compared, at most.
_COMPARED = 20

_Item = ty.TypeVar('_Item', bound=collections.abc.Hashable)
_Answer = ty.TypeVar('_Answer')


class Asking:
    """Asks, and notes the answers."""

    def __init__(
        self, eyes: eyes.Eyes, ledger: ledgers.Ledger,
        clock: collections.abc.Callable[[], values.Now],
    ) -> None:
        self._eyes, self._ledger, self._clock = eyes, ledger, clock
        self._extra = times.Allowance(_SAVED)
        self._failures = times.Allowance(_SAVED)
        self._asks_at: float | None = None

    def begin(self, run: known.Run) -> None:
        """Earn what may be spent in a sweep."""
        for allowance in (self._extra, self._failures):
            allowance.earn(
                run.now.seconds, run.section.probe_budget / 100 * _FIFTH)

    def _asked(
        self, item: _Item, ask: collections.abc.Callable[[_Item], _Answer],
        run: known.Run,
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

    def rooms(
        self, projects: dict[values.Question, set[str]], run: known.Run
    ) -> None:
        """Ask about as many questions as the budget allows, or none yet.

        If it allows none yet, what room was found just now is good still.
        """
        now, result = self._clock().seconds, run.result
        if self._asks_at is None:
            # With --once there is no other sweep.
            self._asks_at = now - pacing.LONGEST
        if now < self._asks_at:
            run.answers.rooms.update(
                (question, room) for question, (room, at)
                in self._ledger.rooms.items()
                if question in projects and room and now < at + _FRESH)
        else:
            late = min(now - self._asks_at, pacing.LONGEST)
            self._ask_rooms(projects, late, run)
            self._asks_at = max(now, now - late + pacing.asks_in(
                result.probe_seconds, run.section.probe_budget))
        run.answers.rooms_end = True
        now = self._clock().seconds
        result.asks_in = max(self._asks_at - now, 0.0)
        result.has_room = any(run.answers.rooms.values())
        result.oldest_answer_seconds = max((
            now - self._ledger.rooms[question][1]
            for question in projects if question in self._ledger.rooms),
            default=0.0)

    def _ask_rooms(
        self, projects: dict[values.Question, set[str]], late: float,
        run: known.Run,
    ) -> None:
        """Ask for the time that one sweep may.

        There is no room for what asks for more than what has none.
        What fails takes long. Where it is to be expected, only what is saved
        up is spent on it. After a failure only what was answered before is
        asked about.

        :param late: for how many seconds that was allowed.
        """
        ledger, result = self._ledger, run.result
        most = pacing.most_seconds(run.section.probe_budget, late)
        full: list[values.Question] = []
        has_failed = False
        for question in self._least_first(projects):
            if run.stopped():
                break
            askers, now = projects[question], self._clock().seconds
            is_new = question not in ledger.rooms
            fails = ledger.waste.is_charged(question, now) or (is_new and all(
                ledger.waste.is_charged(one, now) for one in askers))
            room: values.Room | None = None
            if any(question.asks_for_more(than) for than in full[:_COMPARED]):
                room = values.Room(0)
            elif result.probe_seconds >= most or (is_new and has_failed) or (
                    fails and not self._failures):
                continue
            else:
                room, seconds = self._asked(question, self._eyes.room, run)
                result.probes += 1
                if room is None:
                    has_failed = True
                    self._failures.spend(seconds)
                    self._failed(question, askers)
                    continue
                result.probe_seconds += seconds
                ledger.waste.clear(question)
                if not room and not room.problem:
                    full.append(question)
            run.answers.rooms[question] = room
            ledger.rooms[question] = room, self._clock().seconds

    def _least_first(
        self, questions: collections.abc.Collection[values.Question]
    ) -> collections.abc.Iterable[values.Question]:
        """Return the questions, each after those that it asks for more than.

        If one of the least has no room, as the last time, nobody need ask it.
        """
        least = [
            question for question in heapq.nsmallest(
                _COMPARED, questions, key=operator.attrgetter('size'))
            if not self._ledger.rooms.get(question, (None, 0.0))[0]]
        return dict.fromkeys(
            one for question in questions
            for one in (*filter(question.asks_for_more, least), question))

    def _failed(
        self, question: values.Question,
        askers: collections.abc.Iterable[str],
    ) -> None:
        now = self._clock().seconds
        for one in (question, *askers):
            self._ledger.waste.charge(one, now)
        self._ledger.rests.begin(
            question, texts.PLACEMENT_FAILS, now, _FAILED, _FAILED)

    def shares(self, project_ids: list[str], run: known.Run) -> None:
        """Ask what projects use, while the budget allows it."""
        for project_id in project_ids:
            if run.stopped() or not self._extra:
                break
            share, seconds = self._asked(project_id, self._eyes.share, run)
            self._extra.spend(seconds)
            if share is None:
                share = self._ledger.share(project_id)
            self._ledger.shares.put(project_id, share, self._clock().seconds)
        run.answers.shares_end = True

    def short(self, questions: list[values.Question], run: known.Run) -> None:
        """Ask what is short, likewise."""
        for question in questions:
            if run.stopped() or not self._extra:
                break
            reason, seconds = self._asked(question, self._eyes.short, run)
            self._extra.spend(seconds)
            reason = reason or texts.NO_HOST_HAS_ROOM
            self._ledger.short.put(question, reason, self._clock().seconds)
        run.answers.short_ends = True
