# SPDX-License-Identifier: Apache-2.0

"""A service that starts reads what was wasted from what was told."""

import datetime

import testtools

from cell0_rebuild.wait.memory import ledger
from cell0_rebuild.wait import values
from tests.unit.wait import samples

TEN_MINUTES = datetime.timedelta(minutes=10)
NOW = values.Now(samples.NOON, 10_000.0)
KIND = samples.kind('resources=VCPU:1')


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
