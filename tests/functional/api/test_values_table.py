# SPDX-License-Identifier: Apache-2.0

"""Whatever is stored of a server has a row in reference/values.rst."""

import collections
import unittest

from nova import objects

from tests.functional.api import cases
from tests.functional.api import values_table

PAGE = cases.ROOT / 'doc/source/reference/values.rst'


class ValuesTest(unittest.TestCase):

    def stored(self):
        """Return what Nova's objects have that a rebuild reads."""
        objects.register_all()
        return {f'{owner}.{field}' for owner in (
            'Instance', 'RequestSpec', 'BlockDeviceMapping', 'NetworkRequest',
            'Destination') for field in getattr(objects, owner).fields}

    def test_whatever_is_stored_of_a_server_has_a_row(self):
        named = [field for row in values_table.ROWS for field in row.fields]
        self.assertEqual(set(), self.stored().difference(named))
        self.assertEqual(
            [], [field for field, count in collections.Counter(named).items()
                 if count > 1])

    def test_every_case_is_there(self):
        for row in values_table.ROWS:
            self.assertTrue(row.cases)
            for case in row.cases:
                with self.subTest(case):
                    cases.find(case)

    def test_the_page_has_the_rows(self):
        self.assertIn(f'\n\n{values_table.table()}\n', PAGE.read_text())
