# SPDX-License-Identifier: Apache-2.0

"""What the recovery makes of rows that a crash, or somebody, has left."""

import datetime

from nova import context as nova_context
from nova.db.api import models as api_models
from nova.db.main import models
from nova import objects
from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild.move import cell0_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import newer
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering


class StatesTest(recover_base.RecoverTestCase):

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

    def map_to(self, cell):
        """Map the server to a cell."""
        databases.update('api', api_models.InstanceMapping, self.server['id'],
                         cell_id=cell.id)

    def test_a_buried_server_is_left_alone(self):
        self.assert_left_alone()

    def test_a_deleted_server_is_left_alone(self):
        self.api.delete_server(self.server['id'])
        self.assert_left_alone()

    def test_a_server_that_nobody_knows_is_left_alone(self):
        databases.forget(self.server['id'])
        self.mapping().destroy()
        cell0_db.remove(cells.targeted(self.context, self.home),
                        self.server['id'])
        self.assert_left_alone()

    def test_a_mapping_without_a_row_is_left_alone(self):
        cell0_db.remove(cells.targeted(self.context, self.home),
                        self.server['id'])
        self.assert_left_alone()

    def test_what_a_crash_of_nova_itself_left_of_a_delete_is_left_alone(self):
        databases.forget(self.server['id'])
        mapping = self.mapping()
        mapping.queued_for_delete = True
        mapping.save()
        self.assert_left_alone()

    def test_a_server_whose_row_in_its_cell_is_gone_is_buried_again(self):
        [cell] = [cell for cell in objects.CellMappingList.get_all(
            self.context) if not cell.is_cell0()]
        cell0_db.hide(
            cells.targeted(self.context, self.home), self.server['id'])
        self.map_to(cell)
        self.assert_recovered('not built')
        self.assert_can_be_rebuilt()

    def test_a_server_that_is_deleted_on_its_host_leaves_no_hidden_row(self):
        self._build_without_end()
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        self.assertEqual([True], databases.hidden(self.server['id']))
        self.assertEqual((0, 'deleted'), self._recover())
        self.assertEqual([], databases.hidden(self.server['id']))

    def test_what_is_deleted_in_its_cell_though_not_mapped_so_is_cleared(self):
        self._build_without_end()
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        mapping = self.mapping()
        mapping.queued_for_delete = False
        mapping.save()
        self.assertEqual((0, 'deleted'), self._recover())
        self.assertEqual([], databases.hidden(self.server['id']))

    def test_a_server_that_got_a_host_while_it_was_taken_back_stays(self):
        self._build_without_end()
        self.map_to(self.home)
        self.assertEqual((0, 'built'), self._recover())
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.hidden(self.server['id']))

    def test_one_deleted_in_cell0_that_a_compute_has_is_deleted_there(self):
        self._build_without_end()
        self.map_to(self.home)
        self.api.delete_server(self.server['id'])
        self.assertEqual((0, 'deleted'), self._recover())
        self.assert_gone()
        self.assertEqual((0, {}), recovering.recover())

    def test_one_without_its_row_in_cell0_is_found_by_its_owner(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.map_to(self.home)
        cell0_db.remove(cells.targeted(self.context, self.home),
                        self.server['id'])
        self.assertEqual((0, 'built'), self._recover())
        self.assertEqual(
            'BUILD', self.api.get_server(self.server['id'])['status'])
        self.assertEqual((0, {}), recovering.recover())
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_one_whose_row_in_cell0_is_deleted_does_not_come_back(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.map_to(self.home)
        # nova-api has died before it wrote to the mapping.
        objects.Instance.get_by_uuid(
            cells.targeted(self.context, self.home),
            self.server['id']).destroy()
        self.assertEqual((0, 'deleted'), self._recover())
        self.assert_gone()
        self.assertEqual((0, {}), recovering.recover())

    def test_a_server_that_a_compute_has_is_not_buried(self):
        self.rebuild_until(recovering.END, before=recovering.crash)
        databases.update(
            'cell1', models.Instance, self.server['id'], host='host1')
        before = databases.dump()
        code, found = recovering.recover()
        self.assertEqual(1, code)
        self.assertIn('a compute has the server',
                      found[self.server['id']]['result'])
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_a_server_whose_mapping_is_young_is_left_alone(self):
        self._build_without_end()
        for database in ('cell0', 'cell1'):
            self._make_old(database)
        self.assertEqual((0, {}), recovering.recover(older_than=3600))
        self._make_old('api')
        self.assertEqual((0, 'built'), self._recover(older_than=3600))

    def _build_without_end(self):
        self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._wait_for_state_change(self.server, 'ACTIVE')

    def _make_old(self, database):
        databases.update(
            database, api_models.InstanceMapping if database == 'api'
            else models.Instance, self.server['id'],
            updated_at=timeutils.utcnow() - datetime.timedelta(hours=2))

    def _recover(self, **options):
        code, found = recovering.recover(**options)
        return code, found[self.server['id']]['state']


class FailedBuildTest(recover_base.RecoverTestCase):
    """A compute fails to build a server whose conductor has died."""

    def test_it_is_buried_again(self):
        self.build_and_fail()
        self._wait_for_state_change(self.server, 'ERROR')
        self.assert_recovered('not built')
        self.assert_can_be_rebuilt()

    def test_if_the_message_to_try_another_host_is_lost_it_is_too(self):
        lost = self.useFixture(base.Interception(
            'nova.conductor.api.ComputeTaskAPI.build_instances',
            before=recovering.crash))
        self.build_and_fail()
        self.assertEqual([], lost.waiting())
        self.assert_recovered('not built')
        self.assert_can_be_rebuilt()


class FailedBuildWithVolumeTest(recover_base.NewVolumeTestCase):

    def test_it_stays_in_its_cell_with_its_volume(self):
        self.build_and_fail()
        self._wait_for_state_change(self.server, 'ERROR')
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual((0, {}), recovering.recover())
        self.api.delete_server(self.server['id'])
        self.assert_gone()


class DeleteTest(recover_base.RecoverTestCase):

    def test_of_two_deletes_the_later_finds_it_deleted(self):
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=self._delete_first))
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def _delete_first(self, *args, **kwargs):
        self.api.delete_server(self.server['id'])
        self.assert_gone()


class NewerEntryTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(newer.NewerEntry())

    def test_an_older_recover_brings_it_back(self):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, before=recovering.crash))
        self.rebuild(self.server)
        self.assertEqual(0, recovering.recover(self.server['id'])[0])
        self.assert_shown_once(self.server['id'], 'ERROR')
