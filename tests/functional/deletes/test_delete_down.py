# SPDX-License-Identifier: Apache-2.0

"""A server on its way is deleted while the database of a cell is down."""

import contextlib
import datetime
import types

import ddt
import fixtures
from nova import context as nova_context
from nova.db.api import models as api_models
from nova import exception
from nova import objects
from oslo_upgradecheck import upgradecheck
from oslo_utils import timeutils

from cell0_rebuild.cmd import status
from cell0_rebuild.move import deletion
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support import races_base

# That of [database] in nova-api, that of the host, and another.
API, HOST, OTHER = 'cell1', 'cell2', 'cell3'
CELLS = ('cell0', API, HOST, OTHER)


class DownTestCase(recover_base.RecoverTestCase):
    """There are three cells, of which one may be down, or cell0."""

    NUMBER_OF_CELLS = 3

    def setUp(self):
        super().setUp()
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})
        self._start_compute('host2', cell_name=HOST)

    def delete_with_down(self, database, asked=('cell0', API)):
        """Delete it while a database is down.

        :param asked: those that are looked into.
        """
        with databases.down(database) as tries, (
                fixtures.FakeLogger('cell0_rebuild')) as logged:
            self.api.delete_server(self.server['id'])
            self.assert_counted(0)
        self.assertEqual(database in asked, bool(tries))
        self.assertEqual(
            database in asked, 'What is there of it is left' in logged.output)

    def assert_counted(self, expected):
        """Check how many servers Nova's quota counts for the project."""
        counts = objects.InstanceMappingList.get_counts(
            nova_context.get_admin_context(), self.server['tenant_id'])
        self.assertEqual(expected, counts['project']['instances'])

    def assert_nothing_left(self):
        """Check that no row of it is left, but deleted ones in a cell."""
        self._wait_until_deleted(self.server)
        found = databases.dump()
        self.assertEqual([], databases.rows_with(
            self.server['id'], found['api']))
        for cell in CELLS:
            self.assertEqual([], [
                row['uuid'] for row in found[cell]['instances']
                if not row['deleted']])

    def recovered(self):
        """Recover, and return how it was found; nothing is left then."""
        code, found = recovering.recover()
        self.assertEqual(0, code, found)
        self.assert_nothing_left()
        self.assertEqual((0, {}), recovering.recover())
        return found.get(self.server['id'], {}).get('state')


@ddt.ddt
class DeleteTest(DownTestCase):

    @ddt.data(*CELLS)
    def test_deleted_before_a_conductor_has_it_nothing_is_left(self, database):
        self.rebuild(self.server)
        self.delete_with_down(database)
        self.assertEqual('deleted', self.recovered())

    @ddt.data(*CELLS)
    def test_deleted_when_its_conductor_had_died_nothing_is_left(
            self, database):
        self.rebuild_until(races_base.SCHEDULER, before=recovering.crash)
        self.delete_with_down(database)
        self.assertEqual('deleted', self.recovered())

    # A crash in a cell leaves that one as the fixture's [database].
    @ddt.data('cell0', HOST, OTHER)
    def test_deleted_when_that_had_died_in_its_cell_nothing_is_left(
            self, database):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        self.delete_with_down(database, ('cell0', HOST))
        self.assertEqual('deleted', self.recovered())

    def test_a_conductor_deletes_the_row_that_is_left_to_it(self):
        self.rebuild_until(
            recovering.TAGS, after=lambda *args: self.delete_with_down(
                HOST, ('cell0', HOST)))
        self.assert_nothing_left()

    @ddt.data('cell0', API)
    def test_a_message_that_comes_after_the_delete_leaves_nothing(
            self, database):
        self.rebuild(self.server)
        self.delete_with_down(database)
        self.late.deliver()
        self.assert_nothing_left()
        self.assertEqual((0, {}), recovering.recover())

    @ddt.data('cell0', API)
    def test_a_conductor_at_work_leaves_nothing(self, database):
        self.rebuild_until(
            races_base.SCHEDULER,
            after=lambda *args, **kwargs: self.delete_with_down(database))
        self.assert_nothing_left()
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def test_a_conductor_in_the_cell_that_is_down_leaves_it_to_recover(self):
        with contextlib.ExitStack() as stack:
            def delete(*args, **kwargs):
                stack.enter_context(databases.down(HOST))
                self.api.delete_server(self.server['id'])
            self.rebuild_until(recovering.TAGS, before=delete)
            self.assert_counted(0)
        self.assertEqual('deleted', self.recovered())

    def test_a_conductor_that_fails_in_its_cell_leaves_nothing(self):
        def delete_and_fail(*args, **kwargs):
            # As a nova-api does that has not the package.
            with base.fixtures.MonkeyPatch(
                    recovering.SWEEP,
                    lambda *args: None):
                self.api.delete_server(self.server['id'])
            raise exception.TooManyInstances(
                overs='', req=1, used=1, allowed=1)
        self.rebuild_until(recovering.TAGS, before=delete_and_fail)
        self.assert_nothing_left()
        self.assertEqual((0, {}), recovering.recover())

    def test_a_newer_conductor_may_have_created_it_anywhere(self):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        recovering.change_entry(self.server['id'], version='2.0')
        self.delete_with_down(OTHER, [OTHER])
        self.assertEqual([True], [
            bool(row['deleted'])
            for row in databases.dump()[HOST]['instances']])

    def test_a_create_that_has_reached_its_cell_does_not_need_cell0(self):
        deleted = []

        def delete(*args, **kwargs):
            with databases.down('cell0'):
                self.api.delete_server(created['id'])
            deleted.append(created['id'])
        self.useFixture(base.Interception(
            'nova.conductor.manager.ComputeTaskManager._delete_build_request',
            before=delete))
        created = self.api.post_server({
            'server': self._build_server(networks='none')})
        self._wait_for_assert(
            lambda: self.assertEqual([created['id']], deleted))
        self._wait_until_deleted(created)


class LeftTest(DownTestCase):
    """What a delete has left that was cut short."""

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.useFixture(base.fixtures.MonkeyPatch(
            recovering.AGE, recovering.AT_ONCE))

    def cut_short(self, server):
        """Delete a server that is on its way, no further than Nova begins."""
        objects.BuildRequest.get_by_instance_uuid(
            self.context, server['id']).destroy()

    def test_what_it_has_left_is_no_more_counted_when_it_is_recovered(self):
        self.rebuild(self.server)
        self.cut_short(self.server)
        self.assert_counted(1)
        result = status.Checks().check_stuck()
        self.assertEqual(upgradecheck.Code.WARNING, result.code)
        self.assertIn('1 rebuilds from cell0 were interrupted.',
                      result.details)
        self.assertEqual('deleted', self.recovered())
        self.assert_counted(0)
        self.assertIsNone(status.Checks().check_stuck().details)

    def test_a_mapping_without_a_row_anywhere_is_found(self):
        self.rebuild(self.server)
        self.cut_short(self.server)
        deletion.remove_cell0_row(self.context, self.server['id'])
        self.assertEqual('deleted', self.recovered())
        self.assert_counted(0)

    def test_a_request_spec_without_a_mapping_is_found(self):
        self.rebuild(self.server)
        self.cut_short(self.server)
        objects.InstanceMapping.get_by_instance_uuid(
            self.context, self.server['id']).destroy()
        self.assertEqual('deleted', self.recovered())

    def test_its_allocations_are_released_first(self):
        self.rebuild_until(races_base.SCHEDULER, after=recovering.crash)
        self.cut_short(self.server)
        with recovering.placement_down():
            code, found = recovering.recover()
        self.assertEqual(1, code)
        self.assertIn('its allocations are left',
                      found[self.server['id']]['result'])
        self.assertEqual('deleted', self.recovered())
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def be_buried_without_its_cell(self):
        """Have the server buried again, with a row left in its cell."""
        self.stub_out('tenacity.nap.time', types.SimpleNamespace(
            sleep=lambda seconds: None))
        # Its cell goes away before Nova has begun the event list there.
        with contextlib.ExitStack() as stack:
            self.rebuild_until(
                'nova.compute.utils.check_num_instances_quota',
                before=lambda *args, **kwargs: stack.enter_context(
                    databases.down(HOST)))
        self.assertEqual(1, len(databases.dump()[HOST]['instances']))

    def test_a_row_that_its_burial_could_not_reach_goes_with_it(self):
        self.be_buried_without_its_cell()
        self.api.delete_server(self.server['id'])
        self.assertEqual([], databases.dump()[HOST]['instances'])
        self.assertEqual([], self.api.get_servers())

    def test_a_row_on_the_way_back_goes_with_one_whose_state_was_reset(self):
        self.useFixture(base.Interception(base.CAST, before=recovering.fail))
        self.rebuild_until(recovering.SHOW, after=recovering.crash)
        self.assertEqual(1, len(databases.dump()[HOST]['instances']))
        self.admin_api.post_server_action(
            self.server['id'], {'os-resetState': {'state': 'error'}})
        self.api.delete_server(self.server['id'])
        self.assertEqual([], databases.dump()[HOST]['instances'])
        self.assertEqual([], self.api.get_servers())

    def test_a_row_in_a_cell_of_one_that_was_buried_again_is_found(self):
        self.be_buried_without_its_cell()
        with databases.down(HOST):
            self.api.delete_server(self.server['id'])
        self.assertEqual(1, len(databases.dump()[HOST]['instances']))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'deleted'), (code, found[self.server['id']]['state']))
        self.assertEqual([], databases.dump()[HOST]['instances'])
        self.assertEqual((0, {}), recovering.recover())

    def test_a_dry_run_says_so_and_changes_nothing(self):
        self.rebuild(self.server)
        self.cut_short(self.server)
        before = databases.dump()
        code, found = recovering.recover(dry_run=True)
        self.assertEqual(
            (3, 'remove what is left'),
            (code, found[self.server['id']]['action']))
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_a_create_that_is_buried_now_is_left_alone(self):
        created = self.being_buried()
        self.assert_left_alone(created)

    def test_a_create_that_is_deleted_while_it_is_buried_is_left_alone(self):
        created = self.being_buried()
        self.cut_short(created)
        databases.update(
            'api', api_models.InstanceMapping, created['id'],
            created_at=timeutils.utcnow() - datetime.timedelta(hours=2))
        self.assert_left_alone(created, older_than=3600)

    def being_buried(self):
        """Return a create of which a conductor has kept what it must."""
        self.stub_out(
            'nova.conductor.api.ComputeTaskAPI.schedule_and_build_instances',
            lambda *args, **kwargs: None)
        created = self.api.post_server({
            'server': self._build_server(networks='none')})
        our_objects.keep(
            self.context, {created['id']: retained.Retained(None)})
        return created

    def assert_left_alone(self, created, **options):
        """Check that the recovery neither finds nor changes it."""
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover(**options))
        self.assertEqual(
            (0, {}), recovering.recover(created['id'], **options))
        self.assertEqual([], databases.differences(before, databases.dump()))
