# SPDX-License-Identifier: Apache-2.0

"""The page on what comes back says what the comparisons prove."""

import pathlib
import unittest

from nova.api.openstack.compute.schemas import servers

from tests.functional import comparison_table
from tests.functional import test_comparison
from tests.functional import test_comparison_devices
from tests.functional import test_comparison_scheduling

PAGE = (pathlib.Path(__file__).resolve().parents[2]
        / 'doc/source/user/what-comes-back.rst')
MODULES = (test_comparison, test_comparison_devices,
           test_comparison_scheduling)


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
        there = {
            f'{module.__name__.rpartition(".")[2]}.{test.id().split(".")[-2]}'
            f'.{test.id().split(".")[-1]}'
            for module in MODULES for suite in
            unittest.defaultTestLoader.loadTestsFromModule(module)
            for test in suite}
        self.assertEqual(there, named)

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
