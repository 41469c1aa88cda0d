# SPDX-License-Identifier: Apache-2.0

"""What was wasted is remembered for a while, of whom it was wasted on."""

import testtools

from cell0_rebuild.wait.memory import waste

TEN_MINUTES, HOUR = 600.0, 3600.0


class WasteTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.waste = waste.Waste()

    def present(self, *peers, now=0.0):
        self.waste.admit({'peers': {*peers}}, now)

    def test_half_of_it_is_forgotten_every_ten_minutes(self):
        self.waste.charge('one', 0.0)
        self.assertEqual(
            [1.0, 0.5, 0.25],
            [self.waste.of('one', number * TEN_MINUTES)
             for number in range(3)])

    def test_it_adds_up(self):
        self.waste.charge('one', 0.0)
        self.waste.charge('one', TEN_MINUTES)
        self.assertEqual(1.5, self.waste.of('one', TEN_MINUTES))

    def test_what_is_charged_late_is_as_old_as_it_is(self):
        self.waste.charge('one', TEN_MINUTES)
        self.waste.charge('one', 0.0)
        self.assertEqual(1.5, self.waste.of('one', TEN_MINUTES))

    def test_one_is_forgotten_in_a_bit_more_than_an_hour(self):
        self.waste.charge('one', 0.0)
        self.assertGreater(self.waste.of('one', HOUR), 0.0)
        self.assertTrue(self.waste.is_charged('one', HOUR))
        self.assertEqual(0.0, self.waste.of('one', HOUR + TEN_MINUTES))
        self.assertFalse(self.waste.is_charged('one', HOUR + TEN_MINUTES))

    def test_what_has_passed_is_cleared(self):
        self.waste.charge('one', 0.0)
        self.waste.clear('one')
        self.waste.clear('other')
        self.assertEqual(0.0, self.waste.of('one', 0.0))

    def test_a_newcomer_comes_just_after_who_wasted_least(self):
        self.present('little', 'much')
        self.waste.charge('little', 0.0)
        self.waste.charge('much', 0.0, 1.5)
        self.present('little', 'much', 'new')
        self.assertLess(self.waste.of('little', 0.0),
                        self.waste.of('new', 0.0))
        self.assertLess(self.waste.of('new', 0.0), 1.1)

    def test_what_a_newcomer_begins_with_was_wasted_on_others(self):
        self.present('old')
        self.waste.charge('old', 0.0)
        self.present('old', 'new')
        self.assertTrue(self.waste.is_charged('old', 0.0))
        self.assertFalse(self.waste.is_charged('new', 0.0))
        self.waste.charge('new', 0.0)
        self.assertTrue(self.waste.is_charged('new', 0.0))

    def test_a_newcomer_begins_with_nothing_where_a_peer_has_nothing(self):
        self.present('good', 'bad')
        self.waste.charge('bad', 0.0)
        self.present('good', 'bad', 'new')
        self.assertEqual(0.0, self.waste.of('new', 0.0))

    def test_who_was_charged_and_left_does_not_begin_anew(self):
        self.present('one', 'other')
        self.waste.charge('one', 0.0)
        self.waste.charge('other', 0.0, 2.0)
        self.present('other')
        self.present('one', 'other')
        self.assertEqual(1.0, self.waste.of('one', 0.0))

    def test_those_of_another_group_are_no_peers(self):
        self.waste.admit({'peers': {'old'}, 'others': {'other'}}, 0.0)
        self.waste.charge('old', 0.0)
        self.waste.admit({'peers': {'old'}, 'others': {'other', 'new'}}, 0.0)
        self.assertEqual(0.0, self.waste.of('new', 0.0))

    def test_who_failed_long_ago_makes_no_newcomer_wait(self):
        self.present('old')
        self.waste.charge('old', 0.0)
        self.present('old', 'new', now=2 * HOUR)
        self.assertEqual(0.0, self.waste.of('new', 2 * HOUR))
