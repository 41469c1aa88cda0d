# SPDX-License-Identifier: Apache-2.0

"""A rebuild costs no more than it must.

doc/source/contributor/performance.rst says what that is.
"""

import unittest

from tests.functional.api import costs


class RebuildCostsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, cls.counts = costs.run()

    def test_nova_api_makes_at_most_fourteen_statements_more(self):
        # Ten of them are made by Nova's own action around a rebuild: before
        # it to find the server, after it to show it.
        self.assertLessEqual(self.more('api', 'sql'), 14)

    def test_nova_api_makes_fewer_statements_than_for_delete_and_create(self):
        self.assertLess(
            self.of(costs.REBUILD, 'api', 'sql'),
            self.of('delete of a buried server', 'api', 'sql')
            + self.of('create', 'api', 'sql'))

    def test_nova_api_makes_no_more_statements_than_for_a_launched_one(self):
        self.assertLess(
            self.of(costs.REBUILD, 'api', 'sql'),
            self.of('rebuild with another image', 'api', 'sql'))

    def test_a_conductor_makes_at_most_forty_six_statements_more(self):
        # 25 of them when a compute has the server already.
        self.assertLessEqual(self.more('conductor', 'sql'), 46)

    def test_nova_api_sends_one_message_more_than_for_a_create(self):
        self.assertEqual(1, self.more('api', 'rpc'))

    def test_nobody_else_sends_or_asks_more_than_for_a_create(self):
        for service in ('scheduler', 'compute'):
            for kind in ('sql', 'rpc', 'http'):
                with self.subTest(service, kind=kind):
                    self.assertLessEqual(self.more(service, kind), 0)
        self.assertEqual(0, self.more('conductor', 'rpc'))

    def test_one_request_to_placement_is_made_more_than_for_a_create(self):
        def asked(step):
            return sum(count for what, count in self.counts.steps[step].items()
                       if what.startswith('http placement'))
        self.assertEqual(1, asked(costs.REBUILD) - asked('create'))

    def more(self, service, kind):
        """Return how much a rebuild costs more than a create."""
        return (self.of(costs.REBUILD, service, kind)
                - self.of('create', service, kind))

    def of(self, step, service, kind):
        """Return what a step has cost in a service."""
        return self.counts.services[step][service, kind]
