# SPDX-License-Identifier: Apache-2.0

"""What is remembered of answers, and what of them a new service reads."""

import dataclasses
import datetime

import ddt
import testtools

from cell0_rebuild.wait.memory import ledger
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import samples

TEN_MINUTES = datetime.timedelta(minutes=10)
NOW = values.Now(samples.NOON, 10_000.0)
KIND = samples.kind('resources=VCPU:1')


@ddt.ddt
class AnsweredTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.ledger = ledger.Ledger()

    def answer(self, outcome, number=1, project='a', reason=None):
        """Answer a request, and return why its server rests."""
        server = samples.server(number, project)
        self.ledger.answered(
            values.Request(server, KIND),
            values.Answer(outcome, 'told', reason), samples.section(), NOW)
        return self.ledger.why_rests(server, NOW.seconds)

    def test_who_is_to_try_again_later_reads_what_nova_said(self):
        self.assertEqual(
            values.Reason(values.Code.AWAY, 'told'),
            self.answer(values.Outcome.LATER))

    def test_who_got_no_answer_reads_so(self):
        self.assertIs(texts.NO_ANSWER, self.answer(values.Outcome.AWAY))

    def test_a_refusal_is_charged_to_server_kind_and_project(self):
        self.answer(values.Outcome.BLOCKED)
        for who in (samples.server().uuid, KIND, 'a'):
            self.assertGreater(self.ledger.waste.of(who, NOW.seconds), 0, who)

    @ddt.data((1, False), (2, False), (3, True), (4, True))
    @ddt.unpack
    def test_one_goes_at_a_time_if_three_projects_get_no_answer(
            self, projects, is_narrow):
        for number in range(projects):
            self.answer(values.Outcome.AWAY, number, str(number))
        self.assertIs(is_narrow, self.ledger.is_narrow)

    @ddt.data((None, values.Code.BLOCKED),
              (values.Reason(values.Code.BLOCKED, 'no image'),
               values.Code.BLOCKED),
              (values.Reason(values.Code.ORDER, 'its turn'), None))
    @ddt.unpack
    def test_who_was_not_asked_for_rests_if_that_would_be_in_vain(
            self, reason, code):
        found = self.answer(values.Outcome.NOT_ASKED, reason=reason)
        self.assertEqual(code, found and found.code)

    def test_who_was_not_asked_for_at_last_is_not_on_its_way(self):
        self.answer(values.Outcome.NOT_YET)
        self.assertEqual(1, len(self.ledger.on_their_way))
        self.assertIs(texts.UNKNOWN_IMAGE, self.answer(
            values.Outcome.NOT_ASKED, reason=texts.UNKNOWN_IMAGE))
        self.assertEqual({}, self.ledger.on_their_way)
        self.assertIn('a', self.ledger.doubted)

    def test_more_go_again_when_one_is_accepted(self):
        for number in range(3):
            self.answer(values.Outcome.AWAY, number, str(number))
        self.answer(values.Outcome.ACCEPTED, 4, 'd')
        self.assertFalse(self.ledger.is_narrow)

    def test_a_project_rests_when_two_of_its_servers_got_no_answer(self):
        other = samples.server(9)
        for number, rests in enumerate((False, True, True)):
            self.answer(values.Outcome.AWAY, number)
            self.assertIs(rests, bool(
                self.ledger.why_rests(other, NOW.seconds)), number)


class SeenTest(testtools.TestCase):
    """What a server that found a host, or none, means for others."""

    def setUp(self):
        super().setUp()
        self.ledger, self.number = ledger.Ledger(), 0

    def seen(self, *states, kind=KIND):
        """Let rebuilds end so, one after the other."""
        for state in states:
            self.number += 1
            server = samples.server(self.number)
            self.ledger.answered(
                values.Request(server, kind),
                values.Answer(values.Outcome.ACCEPTED), samples.section(),
                NOW)
            self.ledger.seen(server.uuid, state, samples.section(), NOW)

    def width(self, kind=KIND):
        return self.ledger.width(kind, 4)

    def refusals_until_it_rests(self):
        """Return after how many servers without a host the project rests."""
        for number in range(1, 100):
            self.seen(values.State.BURIED)
            if self.ledger.why_rests(samples.server(999), NOW.seconds):
                return number
        return None

    def test_a_kind_that_is_refused_halves_what_others_of_its_shape_may(self):
        self.seen(*[values.State.LANDED] * 3)
        self.assertEqual(4, self.width())
        other = dataclasses.replace(KIND, likeness='other')
        for width in (2, 1, 1):
            self.seen(values.State.BURIED, kind=other)
            self.assertEqual((width, 1), (self.width(), self.width(other)))

    def test_a_build_that_fails_on_a_host_lets_one_go(self):
        self.seen(*[values.State.LANDED] * 3, values.State.FAILED_ON_HOST)
        self.assertEqual(1, self.width())

    def test_a_project_has_thirty_vain_calls(self):
        self.assertEqual(30, self.refusals_until_it_rests())

    def test_each_server_that_finds_a_host_earns_one_and_at_most_five(self):
        self.refusals_until_it_rests()
        for landed, refusals in ((2, 2), (3, 3), (9, 5)):
            self.seen(*[values.State.LANDED] * landed)
            self.assertEqual(refusals, self.refusals_until_it_rests())


class RecallTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.ledger = ledger.Ledger()

    def wasted(self, server, code=None):
        """Return what is recalled of a server, its kind and its project."""
        self.ledger.recall([server], {server.uuid: KIND}, {
            server.uuid: code}.get, NOW)
        return [self.ledger.waste.of(who, NOW.seconds)
                for who in (server.uuid, KIND, server.project_id)]

    def test_one_that_found_no_host_counts_from_then_on(self):
        tried = samples.server(tried_at=samples.NOON - TEN_MINUTES)
        self.assertEqual([0.5] * 3, self.wasted(tried))

    def test_one_of_a_clock_that_was_ahead_counts_from_now_on(self):
        tried = samples.server(tried_at=samples.NOON + TEN_MINUTES)
        self.assertEqual([1.0] * 3, self.wasted(tried))

    def test_one_that_was_refused_counts(self):
        self.assertEqual(
            [1.0] * 3, self.wasted(samples.server(), values.Code.BLOCKED))

    def test_one_that_waits_for_capacity_does_not(self):
        self.assertEqual(
            [0.0] * 3, self.wasted(samples.server(), values.Code.CAPACITY))

    def test_one_of_which_nothing_was_told_does_not(self):
        self.assertEqual([0.0] * 3, self.wasted(samples.server()))

    def test_it_is_read_once(self):
        self.wasted(samples.server())
        self.assertEqual(
            [0.0] * 3, self.wasted(samples.server(), values.Code.BLOCKED))
