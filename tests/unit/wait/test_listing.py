# SPDX-License-Identifier: Apache-2.0

"""Servers that Placement fails for hide no others from an operator."""

import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait import listing
from cell0_rebuild.wait import texts
from tests.unit.wait import clouds


class ListingTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud, self.failing = clouds.Cloud(), {'VCPU', 'tenant'}
        self.cloud.fail = self.fail_for

    def fail_for(self, asked):
        """Fail as Placement."""
        if any(part in str(asked) for part in self.failing):
            raise exceptions.NoPlacement('Too long.')

    def test_a_question_that_fails_is_the_reason_of_its_servers(self):
        self.assertIs(
            texts.PLACEMENT_FAILS,
            listing._Asked(self.cloud, None).reason(clouds.SMALL))
        self.assertEqual(1.0, listing.share(self.cloud, 'tenant'))

    def test_where_placement_answers_nothing_that_is_told(self):
        self.failing.add('control')
        self.assertRaises(
            exceptions.NoPlacement,
            listing._Asked(self.cloud, None).reason, clouds.SMALL)
        self.assertRaises(
            exceptions.NoPlacement, listing.share, self.cloud, 'tenant')
