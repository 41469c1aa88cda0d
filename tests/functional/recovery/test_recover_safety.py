# SPDX-License-Identifier: Apache-2.0

"""What the recovery leaves alone, and who may come back to life after it."""

import ddt
import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova.cmd import manage as nova_manage
from nova.compute import rpcapi
from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import objects
from oslo_upgradecheck import upgradecheck

from cell0_rebuild import cells
from cell0_rebuild.cmd import status
from cell0_rebuild.move.recovery import search
from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering


@ddt.ddt
class WakeUpTest(recover_base.RecoverTestCase):
    """The conductor was not dead, it only took long."""

    STEPS = (
        ('scheduler', recovering.SCHEDULER, 'before'),
        ('claim', recovering.SCHEDULER, 'after'),
        ('hand_over', recovering.HAND_OVER, 'before'),
        ('end', recovering.END, 'before'),
    )

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_a_conductor_that_wakes_up_at(self, _name, step, when):
        self.rebuild_until(step, **{when: self._recover})
        self.assert_buried()
        self.assert_can_be_rebuilt()

    def test_a_message_to_a_compute_that_comes_late_finds_nothing(self):
        self.rebuild_until(recovering.CAST, before=self._recover)
        # The compute does so at the end.
        deletion = f'DELETE /placement/allocations/{self.server["id"]}'
        self._wait_for_assert(lambda: self.assertEqual(
            1, self.stdlog.logger.output.count(deletion)))
        self.assert_buried()

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_it_harms_no_later_rebuild_either_at(self, _name, step, when):
        self.rebuild_until(step, **{when: self._recover_and_rebuild})
        self._assert_active()
        self._assert_allocated()

    @ddt.data(*STEPS)
    @ddt.unpack
    def test_a_server_that_was_soft_deleted_can_be_restored_after(
            self, _name, step, when):
        self.flags(reclaim_instance_interval=3600)

        def delete_later_one(*args, **kwargs):
            self._recover_and_rebuild()
            self.api.delete_server(self.server['id'])
            self._wait_for_assert(lambda: self.assertEqual(
                ['soft-delete'], [row['vm_state'] for row in
                                  databases.dump()['cell1']['instances']]))
        self.rebuild_until(step, **{when: delete_later_one})
        self.api.post_server_action(self.server['id'], {'restore': {}})
        self._wait_for_state_change(self.server, 'ACTIVE')
        self._assert_allocated()

    def test_a_message_that_comes_late_takes_allocations_that_can_be_healed(
            self):
        held = []
        with fixtures.MonkeyPatch(recovering.CAST,
                lambda *args, **kwargs: held.append((args, kwargs))):
            self.rebuild_until(recovering.FINISH, before=recovering.crash)
        self._recover_and_rebuild()
        [(args, kwargs)] = held
        rpcapi.ComputeAPI.build_and_run_instance(*args, **kwargs)
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id'])))
        self._assert_active()
        nova_manage.PlacementCommands().heal_allocations(
            instance_uuid=self.server['id'])
        self._assert_allocated()

    def test_a_conductor_that_finishes_late_harms_nothing(self):
        self.rebuild_until(recovering.FINISH, before=self._finish_for_it)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def _finish_for_it(self, *args, **kwargs):
        self._wait_for_state_change(self.server, 'ACTIVE')
        self._recover()

    def test_a_cast_that_fails_after_a_recovery_does_not_lose_it(self):
        def recover_and_fail(*args, **kwargs):
            self._recover()
            recovering.fail()
        self.rebuild_until(recovering.CAST, before=recover_and_fail)
        self.assert_buried()

    def test_an_api_that_takes_it_back_late_does_not_lose_it(self):
        def fail(*args, **kwargs):
            raise RuntimeError('no conductor')
        self.stub_out(recovering.REQUEST, fail)
        self.useFixture(base.Interception(
            recovering.BACK, before=self._recover))
        self.assert_refused(409, self.server)
        self.assert_buried()

    def _recover(self, *args, **kwargs):
        code, found = recovering.recover()
        self.assertEqual(0, code, found)

    def _recover_and_rebuild(self, *args, **kwargs):
        self._recover()
        self.late.let_through()
        self.rebuild(self.server)
        self.active(self.server)

    def _assert_active(self):
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def _assert_allocated(self):
        self.assertEqual(
            [self._get_provider_uuid_by_host('host1')],
            list(self._get_allocations_by_server_uuid(self.server['id'])))


class WakeUpWithVolumeTest(recover_base.RecoverTestCase):
    """The same, of a server with a volume and tags."""

    def bury(self, **body):
        self.cinder = self.useFixture(cinder.CinderFixture(self))
        return super().bury(
            imageRef='', tags=['red'], block_device_mapping_v2=[{
                'boot_index': 0, 'destination_type': 'volume',
                'uuid': cinder.ROOT, 'source_type': 'volume',
                'delete_on_termination': True}], **body)

    def test_it_leaves_a_later_rebuild_its_volumes_and_tags(self):
        before = []

        def recover_and_rebuild(*args, **kwargs):
            recovering.recover()
            self.late.let_through()
            self.rebuild(self.server)
            self.active(self.server)
            self.api.api_put(f'/servers/{self.server["id"]}/tags',
                             {'tags': ['blue']})
            before.append(self._in_cell())
        self.rebuild_until(recovering.CREATED, before=recover_and_rebuild)
        self.assertEqual(before, [self._in_cell()])
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def _in_cell(self):
        found = databases.dump()['cell1']
        return ([row['connection_info'] for row in
                 found['block_device_mapping']],
                [row['tag'] for row in found['tags']])


class LeftAloneTest(recover_base.RecoverTestCase):

    def test_a_rebuild_in_progress_is_left_alone(self):
        seen = []

        def recover(*args, **kwargs):
            before = databases.dump()
            seen.append(recovering.recover(older_than=3600))
            seen.append(databases.differences(before, databases.dump()))
        for step in (recovering.SCHEDULER, recovering.HAND_OVER):
            self.useFixture(base.Interception(step, before=recover))
        self.rebuild_until(recovering.CAST, before=recover)
        self.active(self.server)
        self.assertEqual(3 * [(0, {}), []], seen)

    def test_a_create_in_progress_is_left_alone(self):
        seen = []

        def recover(*args, **kwargs):
            [server] = [server for server in self.api.get_servers()
                        if server['status'] == 'BUILD']
            before = databases.dump()
            seen.append(recovering.recover())
            seen.append(recovering.recover(server['id']))
            self.assertEqual(
                [], databases.differences(before, databases.dump()))
        self.useFixture(base.Interception(
            recovering.SCHEDULER, before=recover))
        self._wait_for_state_change(self.api.post_server(
            {'server': self._build_server(networks='none')}), 'ACTIVE')
        self.assertEqual(2 * [(0, {})], seen)

    def test_other_servers_are_left_alone(self):
        context = nova_context.get_admin_context()
        server = self._create_server(networks='none')
        self._hide(context, server['id'])
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual((0, {}), recovering.recover(
            server['id'], self.server['id']))
        self.assertEqual([], databases.differences(before, databases.dump()))

    def _hide(self, context, uuid):
        # As a resize to another cell does.
        [cell] = [cell for cell in objects.CellMappingList.get_all(context)
                  if cell.name == 'cell1']

        @main_db_api.pick_context_manager_writer
        def hide(context):
            context.session.query(models.Instance).filter_by(
                uuid=uuid).update({'hidden': True})
        hide(cells.targeted(context, cell))

    def test_a_dry_run_changes_nothing(self):
        self.rebuild(self.server)
        before = databases.dump()
        code, found = recovering.recover(dry_run=True)
        self.assertEqual((3, {self.server['id']: {
            'state': 'on its way', 'action': 'bury again',
            'result': 'would be mended'}}), (code, found))
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_only_the_servers_that_are_named_are_mended(self):
        self.computes['host1'].stop()
        self.api.put_service_force_down(
            self.computes['host1'].service_ref.uuid, True)
        other = self.bury()
        self.rebuild(self.server)
        self.rebuild(other)
        self.assertEqual([other['id']], list(
            recovering.recover(other['id'])[1]))
        self.assert_shown_once(self.server['id'], 'BUILD')
        self.assert_shown_once(other['id'], 'ERROR')

    def test_more_servers_than_a_page_are_all_found(self):
        self.computes['host1'].stop()
        self.api.put_service_force_down(
            self.computes['host1'].service_ref.uuid, True)
        servers = [self.server, self.bury(), self.bury()]
        for server in servers:
            self.rebuild(server)
        self.useFixture(base.fixtures.MonkeyPatch(
            'cell0_rebuild.move.recovery.search.PAGE', 1))
        self.assertEqual(1, search.PAGE)
        self.assertEqual({server['id'] for server in servers},
                         set(recovering.recover()[1]))


@ddt.ddt
class FailureTest(recover_base.RecoverTestCase):

    # The second is what Nova's client makes of the page of a proxy.
    @ddt.data(ks_exc.ConnectFailure, ValueError)
    def test_without_placement_all_but_the_resources_is_mended(self, error):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        with recovering.placement_down(error):
            code, found = recovering.recover()
            self.assertEqual(1, code)
            self.assertIn('its allocations are left: down',
                          found[self.server['id']]['result'])
            self.assertEqual((1, {}), recovering.recover())
        self.assertNotEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assert_recovered('leftovers')

    def test_leftovers_without_placement_are_reported_as_unknown(self):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        with recovering.placement_down():
            recovering.recover()
            with base.fixtures.MonkeyPatch(
                    recovering.AGE, recovering.AT_ONCE):
                result = status.Checks().check_stuck()
        self.assertEqual(upgradecheck.Code.WARNING, result.code)
        self.assertIn('Placement cannot be asked', result.details)
        self.assertNotIn('interrupted', result.details)

    def test_a_database_that_fails_leaves_it_to_the_next_run(self):
        self.rebuild(self.server)
        self.useFixture(base.Interception(
            recovering.SHOW, before=recovering.fail))
        code, found = recovering.recover()
        self.assertEqual((1, 'RuntimeError: a step failed'), (
            code, found[self.server['id']]['result']))
        self.assert_recovered('on its way')
