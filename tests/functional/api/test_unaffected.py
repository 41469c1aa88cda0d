# SPDX-License-Identifier: Apache-2.0

"""Enabled, the package costs nothing on the way of ordinary requests."""

import collections
import unittest

from tests.functional.api import costs
from tests.unit import specs


def _without_condition(counts):
    found = collections.Counter()
    for what, count in counts.items():
        found[specs.without_condition(what)] += count
    return found


class UnaffectedTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stock, cls.enabled = costs.run()

    def test_ordinary_requests_make_the_same_statements_and_calls(self):
        for step, stock in self.stock.steps.items():
            if step in ('burial', 'delete of a buried server'):
                continue
            with self.subTest(step):
                self.assertGreater(sum(stock.values()), 2)
                enabled = _without_condition(self.enabled.steps[step])
                self.assertEqual({}, stock - enabled, 'less than stock')
                if step != 'warm-up':
                    self.assertEqual({}, enabled - stock, 'more than stock')

    def test_the_delete_of_a_buried_server_costs_a_look_and_a_write_more(
            self):
        stock = self.stock.steps['delete of a buried server']
        enabled = self.enabled.steps['delete of a buried server']
        self.assertEqual(stock, enabled & stock)
        more = sorted((enabled - stock).elements())
        self.assertEqual(
            ['sql SELECT instance_mappings.cell_id', 'sql UPDATE instances'],
            [' '.join(text.split()[:3]) for text in more])

    def test_a_burial_costs_one_look_up_and_one_write_more(self):
        stock = self.stock.steps['burial']
        enabled = self.enabled.steps['burial']
        self.assertEqual(stock, enabled & stock)
        more = sorted(text.split()[1] for text in (enabled - stock).elements())
        self.assertEqual(['SELECT', 'UPDATE'], more)
        self.assertTrue(all(
            'request_specs' in text for text in enabled - stock))
