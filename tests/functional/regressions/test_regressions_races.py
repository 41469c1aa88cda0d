# SPDX-License-Identifier: Apache-2.0

"""What two requests at the same time once did to a server."""

import threading

import fixtures
from nova.compute import api as nova_api
from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report
from nova.tests.functional.api import client

from cell0_rebuild.conductor import stale_claims
from tests.functional import base
from tests.functional import databases
from tests.functional import recovering
from tests.functional import races_base

DESTROY = 'nova.objects.instance.Instance.destroy'
MARK = 'nova.compute.api.API._update_queued_for_deletion'


class HeldHandOver(fixtures.Fixture):
    """Holds a conductor that has handed a server over to a cell."""

    def _setUp(self):
        self._reached, self.goes_on = threading.Event(), threading.Event()
        self.useFixture(base.Interception(base.CAST, before=self._hold))

    def _hold(self, *args, **kwargs):
        self._reached.set()
        self.goes_on.wait(30)

    def rebuild(self, test):
        """Have the server of a test rebuilt until it is handed over."""
        test.rebuild(test.server)
        test.assertTrue(self._reached.wait(30))


class LostChangeTest(races_base.RaceTestCase):

    def test_a_name_given_while_it_is_buried_again_is_kept(self):
        self.api.put_service_force_down(
            self.computes['host1'].service_ref.uuid, True)
        self.useFixture(base.Interception(
            recovering.BACK, before=self._rename))
        self.rebuild(self.server)
        self.assertEqual('late', self.buried_again(self.server)['name'])

    def test_a_name_given_while_a_move_is_taken_back_is_kept(self):
        hook = self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.to_cell0', before=self._rename))
        self.stub_out('cell0_rebuild.move.cell0_db.hide',
                      lambda context, instance_uuid: False)
        self.assert_refused(409, self.server)
        self.assertEqual([], hook.waiting())
        self.assertEqual('late', self.buried_again(self.server)['name'])

    def _rename(self, *args, **kwargs):
        self.api.put_server(self.server['id'], {'server': {'name': 'late'}})


class LostDeleteTest(races_base.RaceTestCase):

    def test_a_rebuild_at_the_end_of_a_delete_is_refused(self):
        self.useFixture(base.Interception(
            'cell0_rebuild.move.cell0_db.hide',
            before=self._all_but_delete))
        self.assert_refused(409, self.server)
        self.assertEqual('cell0', databases.cell_of(self.server['id']))

    def test_a_delete_that_a_rebuild_overtakes_is_done(self):
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=self._rebuild))
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_a_delete_met_by_the_begin_of_a_rebuild_is_done(self):
        late = self.useFixture(races_base.HeldMessage())
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete',
            before=lambda *args, **kwargs: self.rebuild(self.server)))
        self.api.delete_server(self.server['id'])
        late.deliver()
        self.assert_gone()

    def test_a_delete_met_by_the_end_of_a_rebuild_frees_its_port(self):
        port = self.neutron.create_port({'port': {
            'network_id': self.neutron.network_1['id'],
            'tenant_id': self.api.project_id}})['port']
        host = self.computes['host1'].service_ref.uuid
        self.admin_api.put_service(host, {'status': 'disabled'})
        server = self.bury(networks=[{'port': port['id']}])
        self.admin_api.put_service(host, {'status': 'enabled'})
        late = self.useFixture(races_base.HeldMessage())

        def build(*args, **kwargs):
            late.deliver()
            self.active(server)
        self.rebuild(server)
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=build))
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual(
            '', self.neutron.show_port(port['id'])['port']['device_id'])

    def test_an_error_of_a_delete_met_by_a_rebuild_is_shown(self):
        late = self.useFixture(races_base.HeldMessage())
        self.useFixture(base.Interception(
            'nova.compute.utils.may_have_ports_or_volumes',
            before=self._rebuild_and_fail))
        refused = self.assertRaises(
            client.OpenStackApiException, self.api.delete_server,
            self.server['id'])
        self.assertEqual(500, refused.response.status_code)
        late.deliver()
        self.active(self.server)

    def _rebuild_and_fail(self, *args, **kwargs):
        self.rebuild(self.server)
        raise AttributeError('a defect')

    def _rebuild(self, *args, **kwargs):
        self.rebuild(self.server)
        self.active(self.server)

    def _all_but_delete(self, *args):
        """Do what Nova's delete does just before it deletes the row."""
        instance = databases.in_cell0(self.server['id'])
        instance.vm_state = 'deleted'
        instance.task_state = None
        instance.save()


class DeleteAtHandOverTest(recovering.RecoverTestCase):
    """A DELETE has read the server in cell0, and goes on after a hand-over."""

    def setUp(self):
        super().setUp()
        self.late.let_through()
        self.conductor = self.useFixture(HeldHandOver())

    def test_a_delete_met_by_the_hand_over_is_done(self):
        self._delete_while_handed_over()
        self.assert_gone()

    def test_a_stock_delete_met_by_the_hand_over_is_done(self):
        self._have_the_api_delete_as_stock_nova()
        self._delete_while_handed_over()
        self.assert_gone()

    def test_a_stock_delete_met_by_the_end_of_a_rebuild_is_done(self):
        self._have_the_api_delete_as_stock_nova()
        self._delete_while_handed_over(until=DESTROY)
        self.assert_gone()

    def test_a_stock_delete_is_done_if_somebody_locks_the_server(self):
        self._have_the_api_delete_as_stock_nova()
        self._delete_while_handed_over(
            begin=lambda: self.admin_api.post_server_action(
                self.server['id'], {'lock': {}}))
        self.assert_gone()

    def test_a_stock_delete_is_completed_if_the_conductor_dies(self):
        self._have_the_api_delete_as_stock_nova()
        self._delete_and_let_the_conductor_die()
        self.assertEqual('deleted', self._recovered())
        self.assert_gone()

    def test_a_delete_is_completed_if_nova_api_dies_as_well(self):
        self._die_in_a_delete(MARK)
        self.assertEqual('built', self._recovered())
        self.assert_gone()

    def test_a_marked_delete_is_completed_if_nova_api_dies_as_well(self):
        self._die_in_a_delete(DESTROY)
        self.assertEqual('deleted', self._recovered())
        self.assert_gone()

    def _die_in_a_delete(self, step):
        self.useFixture(base.Interception(step, before=recovering.crash))
        self.assertRaises(
            recovering.Crash, self._delete_and_let_the_conductor_die, step)

    def _delete_and_let_the_conductor_die(self, until=None):
        death = self.useFixture(base.Interception(
            'cell0_rebuild.move.deletion.complete',
            before=recovering.crash))

        def die():
            self._wait_for_assert(
                lambda: self.assertEqual([], death.waiting()))
            self._wait_for_state_change(self.server, 'ACTIVE')
        self._delete_while_handed_over(until, end=die)

    def _recovered(self):
        code, found = recovering.recover()
        self.assertEqual(0, code)
        return found[self.server['id']]['state']

    def _delete_while_handed_over(
            self, until=None, begin=lambda: None, end=None):
        """Have a rebuild go on when the delete is done, or before a step."""
        def hand_over(*args, **kwargs):
            self.conductor.rebuild(self)
            begin()

        def go_on(*args, **kwargs):
            self.conductor.goes_on.set()
            (end or self.wait_for_the_conductor)()
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=hand_over))
        if until is not None:
            self.useFixture(base.Interception(until, before=go_on))
        self.admin_api.delete_server(self.server['id'])
        go_on()

    def _have_the_api_delete_as_stock_nova(self):
        self.stub_out('nova.compute.api.API._delete',
                      vars(nova_api.API)['_delete'].__wrapped__)


class LostClaimTest(races_base.RaceTestCase):

    def test_a_stale_conductor_leaves_a_live_server_its_resources(self):
        self.stub_out('cell0_rebuild.conductor.stale_claims._PATIENCE', 1)
        self.useFixture(base.Interception(
            base.CAST, before=self._release))
        self.rebuild(self.server)
        server = self.active(self.server)
        [claimed] = self._get_allocations_by_server_uuid(
            server['id']).values()
        self.assertEqual(1, claimed['resources']['VCPU'])

    def _release(self, api, context, instance, *args, **kwargs):
        """Do what a conductor does whose attempt had chosen this host."""
        stale_claims.release(
            context.elevated(), report.report_client_singleton(),
            instance.uuid, objects.Selection(
                service_host=kwargs['host'], nodename=kwargs['node'],
                compute_node_uuid=self._get_provider_uuid_by_host(
                    kwargs['host'])))


class LostServerTest(recovering.RecoverTestCase):

    def test_one_that_gets_to_a_cell_just_then_is_recovered(self):
        self.useFixture(base.Interception(
            'cell0_rebuild.move.api_db.seize', before=self._go_on))
        self.rebuild(self.server)
        self.assert_recovered('on its way')
        self.assert_can_be_rebuilt()

    def _go_on(self, *args, **kwargs):
        """Have the conductor map the server to its cell, and die there."""
        self.useFixture(base.Interception(
            recovering.HAND_OVER, before=recovering.crash))
        self.late.deliver()
        self.assertEqual('cell1', databases.cell_of(self.server['id']))

    def test_a_recovery_that_an_update_undoes_is_told_as_failed(self):
        self.rebuild(self.server)
        update = objects.BuildRequest.get_by_instance_uuid(
            nova_context.get_admin_context(), self.server['id'])
        update.instance.display_name = 'renamed'
        self.useFixture(base.Interception(
            recovering.BACK, before=lambda *args: update.save()))
        code, found = recovering.recover()
        self.assertEqual(
            (1, 'it was changed meanwhile; run this again later'),
            (code, found[self.server['id']]['result']))
        self.assert_recovered('on its way')
        self.assertEqual(
            'renamed', self.api.get_server(self.server['id'])['name'])

    def test_one_whose_rebuild_begins_just_then_is_built(self):
        self.late.let_through()
        conductor = self.useFixture(HeldHandOver())
        self.useFixture(base.Interception(
            'cell0_rebuild.move.cell_db.find',
            before=lambda *args, **kwargs: conductor.rebuild(self)))
        self.assertEqual((0, {}), recovering.recover(self.server['id']))
        conductor.goes_on.set()
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')

    def test_a_stale_conductor_leaves_the_mapping_of_one(self):
        self.rebuild_until(
            'cell0_rebuild.conductor.builder.Builder._check_current',
            after=lambda *args, **kwargs: recovering.recover())
        self.assert_buried()
        self.assert_can_be_rebuilt()

    def test_one_that_a_compute_takes_is_in_one_cell(self):
        self.late.let_through()
        conductor = self.useFixture(HeldHandOver())
        conductor.rebuild(self)

        def build(*args, **kwargs):
            conductor.goes_on.set()
            self._wait_for_assert(lambda: self.assertEqual(
                ['active'], [row['vm_state'] for row in
                             databases.dump()['cell1']['instances']]))
        self.useFixture(base.Interception(
            'cell0_rebuild.move.cell_db.remove', before=build))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])
