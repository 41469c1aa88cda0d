# SPDX-License-Identifier: Apache-2.0

"""How many rebuilds of a conductor work, and who may go on."""

import contextlib
import time

import fixtures
import testtools

from cell0_rebuild.conductor import throttle


class SlotsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.conductor.throttle._PATIENCE', 0.5))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.conductor.throttle._NUMBER', 2))
        self.slots = throttle.Slots()

    def _waits(self):
        """Tell whether another one would have to wait for a slot."""
        began = time.monotonic()
        with self.slots.new().taken():
            return time.monotonic() - began >= throttle._PATIENCE

    def test_while_one_is_free_nobody_waits(self):
        with self.slots.new().taken():
            self.assertFalse(self._waits())

    def test_while_none_is_free_others_wait_and_then_go_on(self):
        with self.slots.new().taken(), self.slots.new().taken():
            self.assertTrue(self._waits())

    def test_who_went_on_without_one_leaves_none(self):
        with self.slots.new().taken(), self.slots.new().taken():
            self._waits()
            self.assertTrue(self._waits())

    def test_whoever_waits_lets_others_work(self):
        slot = self.slots.new()
        with self.slots.new().taken(), slot.taken():
            with slot.given_back():
                self.assertFalse(self._waits())
            self.assertTrue(self._waits())

    def test_who_has_none_gives_none_back(self):
        with self.slots.new().taken(), self.slots.new().taken():
            with self.slots.new().given_back():
                self.assertTrue(self._waits())
            self.assertTrue(self._waits())

    def test_a_rebuild_that_fails_gives_its_slot_back(self):
        slot = self.slots.new()
        with self.slots.new().taken():
            with contextlib.suppress(ValueError), slot.taken(), (
                    slot.given_back()):
                raise ValueError
            self.assertFalse(self._waits())
