# SPDX-License-Identifier: Apache-2.0

"""A DELETE meets a rebuild, at every step of either."""

import threading

from nova.compute import api as nova_api
from nova import context as nova_context
from nova.db.api import models as api_models
from nova import objects
from nova.tests.functional.api import client

from cell0_rebuild import cells
from cell0_rebuild.move import api_db
from cell0_rebuild.move import cell0_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import newer
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering

DESTROY = 'nova.objects.instance.Instance.destroy'
MARK = 'nova.compute.api.API._update_queued_for_deletion'


class DeleteRaceTest(races_base.RaceTestCase):

    def test_a_rebuild_at_the_end_of_a_delete_is_refused(self):
        self.useFixture(base.Interception(
            recovering.HIDE,
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
        port, server = self.bury_with_port()
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

    def test_a_delete_that_a_rebuild_overtakes_leaves_its_owner_a_port(self):
        port, server = self.bury_with_port()
        ends = threading.Event()
        self.useFixture(base.Interception(
            recovering.FINISH, before=lambda *args: ends.wait(30)))

        def build(*args, **kwargs):
            self.rebuild(server)
            self._wait_for_state_change(server, 'ACTIVE')
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete', before=build))
        self.api.delete_server(server['id'])
        ends.set()
        self._wait_until_deleted(server)
        self.assertEqual(
            '', self.neutron.show_port(port['id'])['port']['device_id'])

    def bury_with_port(self):
        """Return a port of the owner, and a buried server that has it."""
        port = self.neutron.create_port({'port': {
            'network_id': self.neutron.network_1['id'],
            'tenant_id': self.api.project_id}})['port']
        host = self.computes['host1'].service_ref.uuid
        self.admin_api.put_service(host, {'status': 'disabled'})
        server = self.bury(networks=[{'port': port['id']}])
        self.admin_api.put_service(host, {'status': 'enabled'})
        return port, server

    def test_a_delete_on_the_way_back_leaves_no_row_in_the_cell(self):
        # The conductor dies when the server is mapped to cell0 again.
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.useFixture(base.Interception(
            recovering.REMOVE, before=recovering.crash))
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        late.deliver()
        self.assertEqual('cell0', databases.cell_of(self.server['id']))
        self.assertTrue(databases.in_cell0(self.server['id']).hidden)
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_an_error_of_a_delete_is_shown(self):
        self.useFixture(base.Interception(
            'nova.compute.utils.may_have_ports_or_volumes',
            before=self._fail))
        refused = self.assertRaises(
            client.OpenStackApiException, self.api.delete_server,
            self.server['id'])
        self.assertEqual(500, refused.response.status_code)
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_a_delete_between_check_and_move_wins(self):
        self.useFixture(base.Interception(
            recovering.PROBE,
            after=lambda *args: self.api.delete_server(self.server['id'])))
        self.assert_refused(409, self.server)
        self.assert_gone()

    def test_a_delete_that_begins_between_move_and_hiding_wins(self):
        hide = cell0_db.hide

        def begin_to_delete(context, instance_uuid):
            instance = objects.Instance.get_by_uuid(context, instance_uuid)
            instance.task_state = 'deleting'
            instance.save()
            return hide(context, instance_uuid)
        self.stub_out(
            recovering.HIDE, begin_to_delete)
        self.assert_refused(409, self.server)
        self.assertEqual('cell0', databases.cell_of(self.server['id']))
        self.assertEqual([], databases.dump()['api']['build_requests'])
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def test_a_server_that_is_marked_as_deleted_is_handed_to_no_cell(self):
        # As a DELETE does that had read it in cell0, just before its end.
        self.useFixture(base.Interception(
            recovering.TAGS, after=lambda *args: databases.update(
                'api', api_models.InstanceMapping, self.server['id'],
                queued_for_delete=True)))
        sent = self.useFixture(base.Interception(
            base.CAST, before=recovering.fail, is_certain=False))
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        late.deliver()
        self.assertEqual(['before'], sent.waiting())
        self.assert_gone()
        self.assertEqual([], databases.rows_with(
            self.server['id'], databases.dump()['api']))

    def test_a_delete_that_began_earlier_ends_the_rebuild(self):
        context = nova_context.get_admin_context()
        instance = objects.Instance.get_by_uuid(
            cells.in_cell0(context), self.server['id'])
        late = self.useFixture(races_base.HeldMessage())
        self.rebuild(self.server)
        instance.task_state = 'deleting'
        instance.save()
        late.deliver()
        server = self.buried_again(self.server)
        self.assertIn('deleting', server['fault']['details'])
        self.assertEqual(
            [], databases.rows_with(
                self.server['id'], databases.dump()['cell1']))
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id'])))

    def test_a_delete_at_the_hand_over_leaves_no_row(self):
        deleted, marked, met = threading.Event(), threading.Event(), []
        cleanup = 'nova.compute.api.API._local_delete_cleanup'
        end = api_db.end

        def mark_late(*args, **kwargs):
            deleted.set()
            marked.wait(20)

        def end_after_the_delete(*args):
            self._delete = threading.Thread(
                target=self.api.delete_server, args=(self.server['id'],))
            self._delete.start()
            met.append(deleted.wait(20))
            return end(*args)
        self.useFixture(base.Interception(cleanup, before=mark_late))
        self.stub_out(
            recovering.END, end_after_the_delete)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['cell0']['instances']))
        marked.set()
        self._delete.join(20)
        self.assertEqual([True], met)
        self.assert_gone()

    def _fail(self, *args, **kwargs):
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


class DeleteAtHandOverTest(recover_base.RecoverTestCase):
    """A DELETE has read the server in cell0, and goes on after a hand-over."""

    def setUp(self):
        super().setUp()
        self.late.let_through()
        self.conductor = self.useFixture(races_base.HeldHandOver())

    def test_a_delete_met_by_the_hand_over_is_done(self):
        self._delete_while_handed_over()
        self.assert_gone()

    def test_a_delete_met_by_the_hand_over_is_done_when_it_is_answered(self):
        self.useFixture(base.Interception(
            'nova.compute.api.API._delete',
            before=lambda *args, **kwargs: self.conductor.rebuild(self)))
        self.admin_api.delete_server(self.server['id'])
        self.assertRaises(
            client.OpenStackApiNotFoundException, self.api.get_server,
            self.server['id'])
        self.conductor.goes_on.set()
        self.wait_for_the_conductor()
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

    def test_a_stock_delete_is_completed_if_nova_api_dies_as_well(self):
        self._have_the_api_delete_as_stock_nova()
        self._die_in_a_delete(MARK)
        self.assertEqual('built', self._recovered())
        self.assert_gone()

    def test_a_marked_stock_delete_is_completed_if_nova_api_dies_as_well(self):
        self._have_the_api_delete_as_stock_nova()
        self._die_in_a_delete(DESTROY)
        self.assertEqual('deleted', self._recovered())
        self.assert_gone()

    def _die_in_a_delete(self, step):
        self.useFixture(base.Interception(step, before=recovering.crash))
        self.assertRaises(
            recovering.Crash, self._delete_and_let_the_conductor_die, step)

    def _delete_and_let_the_conductor_die(self, until=None):
        death = self.useFixture(base.Interception(
            recovering.COMPLETE, before=recovering.crash))

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


class NewerEntryTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(newer.NewerEntry())

    def test_an_older_nova_api_deletes_it(self):
        self.useFixture(base.Interception(
            races_base.SCHEDULER,
            before=lambda *args, **kwargs: self.api.delete_server(
                self.server['id'])))
        self.rebuild(self.server)
        self.assert_gone()
