# SPDX-License-Identifier: Apache-2.0

"""The page on what comes back says what the comparisons prove."""

import pathlib
import unittest

from nova.api.openstack.compute.schemas import servers

from tests.functional.requests import comparison_table

HERE = pathlib.Path(__file__).resolve()
PAGE = HERE.parents[3] / 'doc/source/user/what-comes-back.rst'


class TableTest(unittest.TestCase):

    def test_the_page_has_the_rows_of_the_comparisons_and_no_others(self):
        page = PAGE.read_text()
        for table in comparison_table.tables():
            self.assertIn(f'\n\n{table}\n\n', page)
        self.assertEqual(2, page.count('list-table::'))

    def test_every_row_has_cases_and_every_case_has_a_row(self):
        named = set()
        for row in comparison_table.ALL:
            self.assertTrue(row.cases, row.names)
            named.update(row.cases)
        self.assertEqual(set(_comparisons()), named)

    def test_every_parameter_of_a_create_has_a_row(self):
        parameters = set()
        for schema in (servers.create, servers.create_v290):
            parameters.update(schema['properties'])
            parameters.update(
                schema['properties']['server']['properties'])
        rows = {name for row in comparison_table.PARAMETERS
                for name in row.names}
        self.assertEqual(
            parameters - {'server'}, rows - {'group (hint)'})


def _comparisons():
    """Return the names of all comparisons, as the rows have them."""
    for path in HERE.parent.glob('test_comparison*.py'):
        if path != HERE:
            for suite in unittest.defaultTestLoader.loadTestsFromName(
                    f'{__package__}.{path.stem}'):
                for test in suite:
                    yield '.'.join(test.id().split('.')[-3:])
