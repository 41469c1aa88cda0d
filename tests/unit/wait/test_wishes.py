# SPDX-License-Identifier: Apache-2.0

import dataclasses
import datetime

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait import wishes

HOUR = datetime.timedelta(hours=1)
SITE = wishes.Site('asked', default_time=24 * HOUR, max_time=168 * HOUR)
ALL = dataclasses.replace(SITE, who='all')
OFF = dataclasses.replace(SITE, who='off')

said = st.none() | st.text(max_size=255) | st.sampled_from(
    ['yes', 'no', '2h', '90m', '999999999d', '0', '-1', '3'])


def wish(wait=None, flavor=None, nice=None, site=SITE):
    """Return the wish for what an owner and a flavor say."""
    metadata = {wishes.WAIT: wait, wishes.NICE: nice}
    extra_specs = {wishes.FLAVOR_WAIT: flavor}
    return wishes.wish(
        {name: value for name, value in metadata.items()
         if value is not None},
        {name: value for name, value in extra_specs.items()
         if value is not None}, site)


@ddt.ddt
class WishesTest(testtools.TestCase):

    def test_who_asks_waits_as_long_as_he_says(self):
        self.assertEqual(wishes.Wish(True, 2 * HOUR), wish('2h'))

    def test_who_says_yes_waits_for_the_default_time(self):
        self.assertEqual(wishes.Wish(True, 24 * HOUR), wish('Yes'))

    def test_a_flavor_can_ask(self):
        self.assertEqual(wishes.Wish(True, 3 * HOUR), wish(flavor='3h'))

    def test_an_owner_comes_before_his_flavor(self):
        self.assertEqual(2 * HOUR, wish('2h', flavor='3h').time)
        self.assertEqual(wishes.Wish(False, None), wish('no', flavor='3h'))

    def test_who_does_not_ask_does_not_wait(self):
        self.assertEqual(wishes.Wish(False, None), wish())

    def test_all_wait_if_the_site_says_so(self):
        self.assertEqual(wishes.Wish(False, 24 * HOUR), wish(site=ALL))
        self.assertEqual(wishes.Wish(True, 2 * HOUR), wish('2h', site=ALL))

    @ddt.data('no', 'NO', '0', '0h')
    def test_who_says_no_never_waits(self, no):
        self.assertEqual(wishes.Wish(False, None), wish(no, site=ALL))
        self.assertEqual(
            wishes.Wish(False, None), wish(flavor=no, site=ALL))

    def test_nobody_waits_if_it_is_off(self):
        self.assertEqual(
            wishes.Wish(False, None), wish('2h', '3h', '1', site=OFF))

    def test_nobody_waits_longer_than_the_longest_time(self):
        self.assertEqual(168 * HOUR, wish('999999999d').time)
        short = dataclasses.replace(ALL, max_time=HOUR)
        self.assertEqual(HOUR, wish(site=short).time)
        self.assertEqual(HOUR, wish('yes', site=short).time)

    @ddt.data('soon', '', '2 hours', '-1h')
    def test_what_means_nothing_is_left_out_and_told(self, value):
        found = wish(value, site=ALL)
        self.assertEqual((False, 24 * HOUR), (found.asked, found.time))
        self.assertIn(f'cell0_rebuild_wait is {value!r}, ', found.problem)
        self.assertIsNone(wish(value).time)

    def test_what_means_nothing_leaves_what_the_flavor_says(self):
        self.assertEqual(3 * HOUR, wish('soon', flavor='3h').time)

    def test_an_owner_can_stand_back(self):
        self.assertEqual(7, wish('2h', nice='7').nice)
        self.assertEqual(wishes.NICEST, wish('2h', nice='9' * 255).nice)

    @ddt.data('-1', '1.5', 'much', '')
    def test_nobody_can_push_forward(self, value):
        found = wish('2h', nice=value)
        self.assertEqual((2 * HOUR, 0), (found.time, found.nice))
        self.assertIn(f'cell0_rebuild_nice is {value!r}, ', found.problem)

    def test_a_problem_is_one_line(self):
        self.assertNotIn('\n', wish('a\nb', 'c\nd', 'e\nf').problem)

    @hypothesis.given(said, said, said, st.sampled_from([SITE, ALL, OFF]))
    def test_whatever_is_said_the_bounds_hold(
            self, wait, flavor, nice, site):
        found = wish(wait, flavor, nice, site)
        self.assertTrue(found.time is None
                        or datetime.timedelta() < found.time <= 168 * HOUR)
        self.assertTrue(found.time is not None or not found.asked)
        self.assertTrue(0 <= found.nice <= wishes.NICEST)
