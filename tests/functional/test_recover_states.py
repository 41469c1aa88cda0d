#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What the recovery makes of rows that a crash, or somebody, has left."""

from nova import context as nova_context
from nova import objects

from cell0_rebuild.exhumation import cells
from cell0_rebuild.exhumation import grave
from cell0_rebuild.exhumation import switch
from cell0_rebuild import objects as our_objects
from tests.functional import base
from tests.functional import databases
from tests.functional import recovering


class StatesTest(recovering.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.home = cells.cell0(self.context)

    def assert_left_alone(self):
        """Check that the recovery finds nothing and changes nothing."""
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover(self.server['id']))
        self.assertEqual([], databases.differences(before, databases.dump()))

    def mapping(self):
        """Return the instance mapping of the server."""
        return objects.InstanceMapping.get_by_instance_uuid(
            self.context, self.server['id'])

    def test_a_buried_server_is_left_alone(self):
        self.assert_left_alone()

    def test_a_deleted_server_is_left_alone(self):
        self.api.delete_server(self.server['id'])
        self.assert_left_alone()

    def test_a_server_that_nobody_knows_is_left_alone(self):
        self.mapping().destroy()
        grave.remove(cells.targeted(self.context, self.home),
                     self.server['id'])
        self.assert_left_alone()

    def test_a_mapping_without_a_row_is_left_alone(self):
        grave.remove(cells.targeted(self.context, self.home),
                     self.server['id'])
        self.assert_left_alone()

    def test_what_a_crash_of_nova_itself_left_of_a_delete_is_left_alone(self):
        our_objects.forget(self.context, self.server['id'])
        mapping = self.mapping()
        mapping.queued_for_delete = True
        mapping.save()
        self.assert_left_alone()

    def test_a_server_whose_row_in_its_cell_is_gone_is_buried_again(self):
        [cell] = [cell for cell in objects.CellMappingList.get_all(
            self.context) if not cell.is_cell0()]
        grave.hide(cells.targeted(self.context, self.home), self.server['id'])
        self.assertTrue(switch.remap(
            self.context, self.server['id'], self.home.id, cell.id))
        self.assert_recovered('not built')
        self.assert_can_be_rebuilt()

    def test_a_server_that_is_deleted_on_its_host_leaves_no_hidden_row(self):
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        self.assertEqual([True], databases.hidden(self.server['id']))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'deleted'), (code, found[self.server['id']]['state']))
        self.assertEqual([], databases.hidden(self.server['id']))


class DeleteTest(recovering.RecoverTestCase):

    def test_of_two_deletes_the_later_finds_it_deleted(self):
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=self._delete_first))
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def _delete_first(self, *args, **kwargs):
        self.api.delete_server(self.server['id'])
        self.assert_gone()
