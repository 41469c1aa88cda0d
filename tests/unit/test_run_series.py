# SPDX-License-Identifier: Apache-2.0

"""The table of races has all that the tests run."""

import types
import unittest

import testtools

from tools import run_series


class RacesTest(testtools.TestCase):

    def test_the_table_has_every_pair_of_the_tests(self):
        self.assertEqual(
            sorted(_pairs()),
            sorted(run_series.Races().series(types.SimpleNamespace(only=''))))


def _pairs():
    """Return what the tests race, as the table calls it."""
    raced = []
    for test in testtools.iterate_tests(
            unittest.defaultTestLoader.loadTestsFromName(
                'tests.races.test_schedules')):
        test.race_all = lambda *pairs, test=test: raced.extend(
            f'{type(test).__name__} {a} | {b}' for a, b in pairs)
        getattr(test, test._testMethodName)()
    return raced
