# SPDX-License-Identifier: Apache-2.0

"""What is remembered of answers, and what of them a new service reads."""

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

    def answer(self, outcome, number=1, project='a'):
        """Answer a request, and return why its server rests."""
        server = samples.server(number, project)
        self.ledger.answered(
            values.Request(server, KIND), values.Answer(outcome, text='told'),
            samples.section(), NOW)
        return self.ledger.why_rests(server, NOW.seconds)

    def test_who_is_to_try_again_later_reads_what_nova_said(self):
        self.assertEqual(
            values.Reason(values.Code.AWAY, 'told'),
            self.answer(values.Outcome.LATER))

    def test_who_got_no_answer_reads_so(self):
        self.assertIs(texts.NO_ANSWER, self.answer(values.Outcome.AWAY))

    @ddt.data((1, False), (2, False), (3, True), (4, True))
    @ddt.unpack
    def test_one_goes_at_a_time_if_three_projects_get_no_answer(
            self, projects, is_narrow):
        for number in range(projects):
            self.answer(values.Outcome.AWAY, number, str(number))
        self.assertIs(is_narrow, self.ledger.is_narrow)

    def test_more_go_again_when_one_is_accepted(self):
        for number in range(3):
            self.answer(values.Outcome.AWAY, number, str(number))
        self.answer(values.Outcome.ACCEPTED, 4, 'd')
        self.assertFalse(self.ledger.is_narrow)


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
