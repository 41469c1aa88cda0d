# SPDX-License-Identifier: Apache-2.0

"""What an attempt is told of its server, and does to one row of it."""

import datetime

from nova import context as nova_context
from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import late_changes
from cell0_rebuild.move import location
from cell0_rebuild.move import reburial
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import newer
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering


class AttemptTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.uuid = self.server['id']
        [self.cell] = [
            cell for cell in objects.CellMappingList.get_all(self.context)
            if not cell.is_cell0() and cell.name == 'cell1']

    def handed_over(self):
        """Have a conductor die after the hand-over; return its attempt."""
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        return attempts.Attempt(
            self.uuid, api_db.entry(self.context, self.uuid),
            row_id=cell_db.find(self.context, self.uuid, self.cell).id)

    def test_who_has_handed_it_over_has_it_until_somebody_takes_it_over(self):
        attempt = self.handed_over()
        self.assertTrue(attempts.is_in(self.context, attempt, self.cell))
        recovering.recover()
        self.assertFalse(attempts.is_in(self.context, attempt, self.cell))

    def test_without_its_request_spec_it_has_no_holder(self):
        self.rebuild(self.server)
        entry = api_db.entry(self.context, self.uuid)
        databases.spec_of(self.uuid).destroy()
        self.assertFalse(api_db.is_current(self.context, self.uuid, entry))
        entry = api_db.take_over(
            self.context, self.uuid, datetime.datetime.max, 'recover', None)
        self.assertTrue(api_db.is_current(self.context, self.uuid, entry))

    def test_each_cell_that_it_may_be_created_in_is_noted(self):
        self.rebuild(self.server)
        attempt = api_db.entry(self.context, self.uuid).attempt
        _, entry = api_db.take(self.context, self.uuid, attempt)
        for cell in ('one', 'two'):
            self.assertTrue(api_db.refresh(
                self.context, self.uuid, entry, next_cell=cell))
        self.assertEqual(
            ['one', 'two'], api_db.entry(self.context, self.uuid).cells)

    def test_every_step_is_counted(self):
        counts = []
        steps = [recovering.SCHEDULER, recovering.TAGS, recovering.HAND_OVER,
                 recovering.CAST]
        for step in steps:
            self.useFixture(base.Interception(
                step, before=lambda *args, **kwargs: counts.append(
                    recovering.entry(self.uuid)['count'])))
        self.rebuild(self.server)
        counts.append(recovering.entry(self.uuid)['count'])
        self.late.deliver()
        self.assertEqual([0, 2, 3, 3, 4], counts)

    def test_of_a_buried_server_there_is_no_attempt(self):
        self.assertIsNone(recovering.entry(self.uuid))
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.rebuild(self.server)
        self.assertIsNotNone(recovering.entry(self.uuid))
        self.late.deliver()
        self.buried_again(self.server)
        self.assertIsNone(recovering.entry(self.uuid))

    def test_what_comes_after_the_move_does_not_look_into_cell0(self):
        targets = []

        def look(api, context, *args, **kwargs):
            targets.append(context.db_connection)
        for call in (recovering.PROBE, recovering.REQUEST):
            self.useFixture(base.Interception(call, before=look))
        self.rebuild(self.server)
        self.assertEqual([False, True], [
            target is None for target in targets])

    def test_what_somebody_has_taken_over_is_not_buried(self):
        attempt, failures = self.handed_over(), []
        api_db.take_over(
            self.context, self.uuid, datetime.datetime.max, 'another',
            self.cell.id)
        before = databases.dump()
        self.assertFalse(reburial.bury_again(
            self.context, attempt, self.cell, failures.append))
        self.assertEqual([], failures)
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_what_somebody_has_worked_on_since_is_not_taken_over(self):
        self.handed_over()
        before = databases.dump()
        self.assertIsNone(api_db.take_over(
            self.context, self.uuid, datetime.datetime.min, 'another',
            self.cell.id))
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_a_server_in_a_real_cell_is_not_in_cell0(self):
        self.handed_over()
        self.assertFalse(location.is_in_cell0(self.context, self.uuid))
        recovering.recover()
        self.assertTrue(location.is_in_cell0(self.context, self.uuid))


class WatchedTest(recover_base.RecoverTestCase):
    """What is watched of the row in cell0."""

    def setUp(self):
        super().setUp()
        self.uuid = self.server['id']
        self.cell0 = cells.in_cell0(nova_context.get_admin_context())

    def test_it_is_as_that_of_the_objects(self):
        self.assert_same()
        instance = objects.Instance.get_by_uuid(
            self.cell0, self.uuid, expected_attrs=['system_metadata'])
        instance.display_name = 'another'
        instance.access_ip_v4 = '192.0.2.1'
        instance.access_ip_v6 = '2001:0db8:0000::0001'
        instance.auto_disk_config = True
        instance.locked, instance.locked_by = True, 'owner'
        instance.system_metadata = dict(
            instance.system_metadata, locked_reason='a reason')
        instance.save()
        objects.TagList.create(self.cell0, self.uuid, ['b', 'a'])
        for number, keep in enumerate((True, False, True)):
            bdm = objects.BlockDeviceMapping(
                self.cell0, instance_uuid=self.uuid, source_type='blank',
                destination_type='volume', delete_on_termination=keep)
            bdm.create()
            if number == 2:
                bdm.destroy()
        found = self.assert_same()
        self.assertEqual(['a', 'b'], found['tags'])
        self.assertEqual('a reason', found['locked_reason'])
        self.assertEqual(3, len(found['delete_on_termination']))

    def test_a_reason_that_is_gone_is_none(self):
        instance = objects.Instance.get_by_uuid(
            self.cell0, self.uuid, expected_attrs=['system_metadata'])
        before = dict(instance.system_metadata)
        for metadata in (dict(before, locked_reason='a reason'), before):
            instance.system_metadata = metadata
            instance.save()
        self.assertIsNone(self.assert_same()['locked_reason'])

    def assert_same(self):
        """Check the state against that of the objects, and return it."""
        read = cell0_copy.read(self.cell0, self.uuid)
        found = cell0_db.watched(self.cell0, self.uuid)
        self.assertEqual(late_changes.watched(
            read.instance, read.bdms, read.instance.tags), found)
        return found


class RowTest(races_base.RaceTestCase):
    """The row of a server that a compute has."""

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.uuid = self.server['id']
        self.rebuild(self.server)
        self.active(self.server)
        [self.cell] = [
            cell for cell in objects.CellMappingList.get_all(self.context)
            if not cell.is_cell0() and cell.name == 'cell1']
        self.row = cell_db.find(self.context, self.uuid, self.cell)

    def test_it_is_refused_to_remove_it(self):
        self.assertRaises(
            exception.ObjectActionError, cell_db.remove, self.context,
            self.uuid, self.cell, self.row.id)

    def test_it_is_not_the_row_of_another_attempt(self):
        self.assertFalse(cell_db.remove(
            self.context, self.uuid, self.cell, self.row.id + 1))

    def test_a_delete_of_the_build_request_leaves_it(self):
        cell_db.delete(self.context, self.uuid, self.cell)
        self.assertFalse(cell_db.find(
            self.context, self.uuid, self.cell).deleted)

    def test_late_tags_are_no_change_that_is_to_be_saved(self):
        cctxt = cells.targeted(self.context, self.cell)
        instance = objects.Instance.get_by_uuid(
            cctxt, self.uuid, expected_attrs=['system_metadata', 'tags'])
        late_changes.apply(cctxt, instance, (), {'tags': ['late']})
        self.assertEqual(set(), instance.obj_what_changed())
        self.assertEqual(['late'], [tag.tag for tag in instance.tags])


class FenceTest(races_base.RaceTestCase):

    def test_a_failure_inside_lets_others_go_on(self):
        context = nova_context.get_admin_context()

        def fail():
            with location.held(context, self.server['id']):
                raise RuntimeError
        self.assertRaises(RuntimeError, fail)
        self.rebuild(self.server)
        self.active(self.server)


class ToldTest(base.FunctionalTestCase):

    def test_a_rebuild_that_no_conductor_takes_is_logged(self):
        server = self.bury()
        self.stub_out(
            recovering.REQUEST,
            recovering.fail)
        before = databases.dump()
        self.assert_refused(409, server)
        self.assertEqual(
            [], databases.differences_but_age(before, databases.dump()))
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertIn(
            'No nova-conductor says that it rebuilds the server '
            '(RuntimeError).', self.stdlog.logger.output)


class NewerEntryTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(newer.NewerEntry())

    def test_an_older_conductor_builds_it(self):
        self.rebuild(self.server)
        self.active(self.server)
