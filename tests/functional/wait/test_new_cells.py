# SPDX-License-Identifier: Apache-2.0

"""A cell is added while the service runs."""

from nova import context as nova_context

from cell0_rebuild.wait.census import down_cells
from tests.functional import base


class NewCellTest(base.FunctionalTestCase):
    NUMBER_OF_CELLS = 2

    def test_a_cell_that_was_added_since_is_looked_into(self):
        nova_context.load_cells()
        # Nova itself does not look again as long as a process lives.
        self.stub_out('nova.context.CELLS', [
            cell for cell in nova_context.CELLS if cell.name != 'cell2'])
        found = down_cells.DownCells().in_each(
            nova_context.get_admin_context(),
            lambda context: [context.cell_uuid])
        self.assertEqual({
            self.cell_mappings[name].uuid for name in ('cell1', 'cell2')},
            {*found})
