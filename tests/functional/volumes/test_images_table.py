# SPDX-License-Identifier: Apache-2.0

"""The tables of doc/source/reference/images.rst are true of buried servers."""

import unittest

from tests.functional.volumes import images_table
from tests.functional.volumes import images_table_base


class TableTest(unittest.TestCase):

    def test_each_case_has_one_row(self):
        for state in images_table.STATES:
            for case in images_table.cases():
                with self.subTest(state=state, case=case):
                    self.assertEqual(
                        1, len(images_table.matching(state, case)))

    def test_each_row_has_a_case(self):
        for state in images_table.STATES:
            used = [row for case in images_table.cases()
                    for row in images_table.matching(state, case)]
            for row in images_table.rows(state):
                self.assertIn(row, used)

    def test_each_outcome_is_explained_and_used(self):
        self.assertEqual(images_table.outcomes().keys(), {
            row[microversion] for state in images_table.STATES
            for row in images_table.rows(state)
            for microversion in images_table.MICROVERSIONS})


class AddedMicroversionTest(images_table_base.BuriedTestCase):

    def test_buried_servers(self):
        self.check(
            'buried', 'Added microversion', images_table.cases())
