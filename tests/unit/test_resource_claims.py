# SPDX-License-Identifier: Apache-2.0

"""Which part of a stale claim stands beside that of a live server."""

import testtools

from cell0_rebuild.conductor import resource_claims


def _claim(**providers):
    return {name: {'resources': found} for name, found in providers.items()}


class DoubledTest(testtools.TestCase):

    def assert_doubled(self, expected, allocations, claim):
        self.assertEqual(
            set(expected), resource_claims.doubled(allocations, claim))

    def test_of_two_claims_of_the_same_providers_nothing_is_doubled(self):
        claim = _claim(host={'VCPU': 1}, gpu1={'VGPU': 1})
        self.assert_doubled([], claim, claim)

    def test_a_provider_that_another_stands_in_for_is_doubled(self):
        self.assert_doubled(
            ['gpu2'],
            _claim(host={'VCPU': 1}, gpu1={'VGPU': 1}, gpu2={'VGPU': 1}),
            _claim(host={'VCPU': 1}, gpu2={'VGPU': 1}))

    def test_one_provider_may_stand_in_for_two(self):
        self.assert_doubled(
            ['gpu2', 'gpu3'],
            _claim(gpu1={'VGPU': 2}, gpu2={'VGPU': 1}, gpu3={'VGPU': 1}),
            _claim(gpu2={'VGPU': 1}, gpu3={'VGPU': 1}))

    def test_a_provider_of_which_a_part_is_used_is_not_doubled(self):
        self.assert_doubled(
            [],
            _claim(gpu1={'VGPU': 1}, gpu2={'VGPU': 1, 'MEM': 1}),
            _claim(gpu2={'VGPU': 1, 'MEM': 1}))

    def test_nothing_is_doubled_if_the_claims_share_a_provider_of_a_kind(self):
        """Which of the two is too many cannot be told."""
        self.assert_doubled(
            [],
            _claim(gpu1={'VGPU': 1}, gpu2={'VGPU': 1}, gpu3={'VGPU': 1}),
            _claim(gpu2={'VGPU': 1}, gpu3={'VGPU': 1}))

    def test_a_claim_that_was_released_meanwhile_is_not_doubled(self):
        self.assert_doubled(
            [], _claim(gpu1={'VGPU': 1}), _claim(gpu2={'VGPU': 1}))

    def test_what_only_the_live_server_has_is_no_reason(self):
        self.assert_doubled(
            [], _claim(host={'VCPU': 1}, nic={'CUSTOM_BANDWIDTH': 9}),
            _claim(host={'VCPU': 1}))
