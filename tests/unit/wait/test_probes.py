# SPDX-License-Identifier: Apache-2.0

import testtools

from cell0_rebuild.wait import probes


class ServersTest(testtools.TestCase):
    """How many servers fit into what Placement answers."""

    def servers(self, stocks, *requests):
        """Return how many fit.

        :param stocks: capacity and use by provider and resource class.
        :param requests: amounts, likewise.
        """
        return probes._servers({
            'provider_summaries': {provider: {'resources': {
                name: {'capacity': capacity, 'used': used}
                for name, (capacity, used) in classes.items()}}
                for provider, classes in stocks.items()},
            'allocation_requests': [{'allocations': {
                provider: {'resources': classes}
                for provider, classes in request.items()}}
                for request in requests]})

    def test_what_is_short_limits_them(self):
        self.assertEqual(3, self.servers(
            {'host': {'VCPU': (16, 8), 'MEMORY_MB': (2000, 400)}},
            {'host': {'VCPU': 1, 'MEMORY_MB': 500}}))

    def test_those_of_all_hosts_count(self):
        self.assertEqual(8 + 3, self.servers(
            {'one': {'VCPU': (16, 0)}, 'two': {'VCPU': (16, 9)}},
            {'one': {'VCPU': 2}}, {'two': {'VCPU': 2}}))

    def test_two_candidates_on_a_host_share_its_room(self):
        self.assertEqual(5, self.servers(
            {'host': {'VCPU': (5, 0)},
             'left': {'VF': (3, 0)}, 'right': {'VF': (8, 0)}},
            {'host': {'VCPU': 1}, 'left': {'VF': 1}},
            {'host': {'VCPU': 1}, 'right': {'VF': 1}}))

    def test_two_hosts_share_a_provider(self):
        self.assertEqual(3, self.servers(
            {'one': {'VCPU': (9, 0)}, 'two': {'VCPU': (9, 0)},
             'shared': {'DISK_GB': (30, 0)}},
            {'one': {'VCPU': 1}, 'shared': {'DISK_GB': 10}},
            {'two': {'VCPU': 1}, 'shared': {'DISK_GB': 10}}))

    def test_a_provider_that_is_overfull_has_none(self):
        self.assertEqual(0, self.servers(
            {'host': {'VCPU': (4, 6)}}, {'host': {'VCPU': 1}}))
