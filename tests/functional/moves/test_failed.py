# SPDX-License-Identifier: Apache-2.0

"""Servers that failed on a compute, and an operator who buries them."""

import argparse
import contextlib
import io
import threading

import ddt
import fixtures
from nova import exception
from nova.tests.functional.libvirt import base as libvirt_base

from cell0_rebuild.cmd import bury
from tests import releases
from tests.functional import base
from tests.functional.support import archiving
from tests.functional.support import databases
from tests.functional.support import recovering

_SPAWN = 'nova.virt.libvirt.driver.LibvirtDriver.spawn'
_CLAIM_GOES = ('nova.scheduler.client.report.SchedulerReportClient.'
               'delete_allocation_for_instance')
_BURIED, _FAILED, _FOUND = 0, 1, 3


def aborted(instance):
    """Return the error of a build that is not tried elsewhere."""
    return exception.BuildAbortException(
        instance_uuid=instance.uuid, reason='no')


class FailedTestCase(base.Cell0RebuildMixin, libvirt_base.ServersTestBase):

    ADMIN_API = True
    CAST_AS_CALL = False
    options = {'rebuild': 'never_launched'}

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')
        self.host = self.start_compute()
        self.port = self.neutron.port_1['id']

    def fail(self, error, *calls, after=False):
        """Have spawns fail.

        :param error: or what returns one for a server.
        :param calls: which, counted from 1; all without any.
        :param after: when the guest runs.
        """
        from nova.virt.libvirt import driver
        spawn, count = driver.LibvirtDriver.spawn, []

        def failing(*args, **kwargs):
            count.append(1)
            if after:
                spawn(*args, **kwargs)
            if not calls or len(count) in calls:
                raise error(args[2]) if error is aborted else error
            if not after:
                spawn(*args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(_SPAWN, failing))

    def create(self, **body):
        """Create a server that fails, and wait until its compute is done."""
        server = self._build_server(networks=[{'port': self.port}])
        server.update(tags=['mine'], **body)
        server = self.api.post_server({'server': server})
        return self._wait_for_state_change(server, 'ERROR')

    def settled(self, server):
        """Wait until its compute has deleted the claim."""
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        return server

    def bury(self, server, dry_run=False):
        """Run the command; return its exit code and what it says."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), (
                contextlib.redirect_stderr(output)):
            code = bury.run(argparse.Namespace(
                server=server['id'], dry_run=dry_run))
        return code, output.getvalue()

    def guests(self):
        """Return the servers that libvirt has."""
        return self.computes[self.host].driver.list_instance_uuids()

    def state(self, server):
        """Return all that there is of a server."""
        return (databases.dump(),
                self._get_allocations_by_server_uuid(server['id']),
                self.bound(server), self.guests())

    def bound(self, server):
        """Return the ports that name a server."""
        return [port['id'] for port in list(self.neutron._ports.values())
                if port['device_id'] == server['id']]

    def assert_buried(self, server):
        """Check that a server is in cell0, and nowhere else."""
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertEqual(('cell0', [False]), (
            databases.cell_of(server['id']), databases.hidden(server['id'])))
        self.assertEqual([], databases.rows_with(
            server['id'], databases.dump()['cell1']))
        self.assertEqual({}, self._get_allocations_by_server_uuid(
            server['id']))
        self.assertIsNone(recovering.entry(server['id']))
        self.assertEqual([], self.bound(server))
        self.assertEqual([], self.guests())

    def assert_comes_back(self, server):
        """Rebuild it; check that it is the same, once."""
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assert_shown_once(server['id'], 'ACTIVE')
        self.assertEqual(
            (server['id'], server['created'], ['mine']),
            (rebuilt['id'], rebuilt['created'], rebuilt['tags']))
        self.assertEqual([self.port], self.bound(server))
        self.assertEqual([server['id']], self.guests())
        self.assertEqual(1, len(self._get_allocations_by_server_uuid(
            server['id'])))
        self.assertEqual([], databases.dump()['cell0']['instances'])


@ddt.ddt
class BuryTest(FailedTestCase):

    @ddt.data((aborted, 3), (aborted, 1), (RuntimeError('no'), 1))
    @ddt.unpack
    def test_one_that_was_built_once_is_buried_and_rebuilt(
            self, error, attempts):
        self.flags(max_attempts=attempts, group='scheduler')
        self.fail(error, 1)
        server = self.settled(self.create())
        fault = server['fault']['message']
        self.assertEqual(_BURIED, self.bury(server)[0])
        self.assert_buried(server)
        self.assertEqual(fault, self.api.get_server(
            server['id'])['fault']['message'])
        self.assertEqual(['bury', 'create'], [
            found['action'] for found in
            self.api.get_instance_actions(server['id'])])
        self.assert_comes_back(server)

    def test_one_whose_rebuild_fails_on_a_host_is_buried_again(self):
        self.fail(RuntimeError('no'), 1, 2)
        server = self.settled(self.create())
        self.bury(server)
        self.rebuild(server)
        self._wait_for_assert(lambda: self.assertEqual(
            ('ERROR', 'cell1', None), (
                self.api.get_server(server['id'])['status'],
                databases.cell_of(server['id']),
                recovering.entry(server['id']))))
        self.settled(server)
        self.assertEqual((_BURIED, ''), (self.bury(server)[0], ''))
        self.assert_buried(server)
        self.assert_comes_back(server)

    def test_a_dry_run_changes_nothing(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        before = self.state(server)
        self.assertEqual(_FOUND, self.bury(server, dry_run=True)[0])
        self.assertEqual(before, self.state(server))

    def test_it_waits_for_a_compute_that_stalls_at_its_last_step(self):
        self.fail(RuntimeError('no'), 1)
        reached, on = threading.Event(), threading.Event()
        self.addCleanup(on.set)

        def stall(*args, **kwargs):
            reached.set()
            on.wait(60)
        self.useFixture(base.Interception(_CLAIM_GOES, before=stall))
        server = self.create()
        self.assertTrue(reached.wait(60))
        # The build has ended, as its event tells.
        self._wait_for_assert(lambda: self.assertEqual(
            _FOUND, self.bury(server, dry_run=True)[0]))
        codes = []
        burial = threading.Thread(
            target=lambda: codes.append(self.bury(server)[0]), daemon=True)
        burial.start()
        burial.join(3)
        self.assertEqual([], codes)
        self.assertEqual('cell1', databases.cell_of(server['id']))
        on.set()
        burial.join(60)
        self.assertEqual([_BURIED], codes)
        self.assert_buried(server)
        self.assert_comes_back(server)

    def test_without_an_answer_of_its_compute_it_is_left_alone(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        self.flags(rpc_response_timeout=1)
        self.computes[self.host].stop()
        code, said = self.bury(server)
        self.assertEqual(_FAILED, code)
        self.assertIn('does not answer', said)
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertIsNone(recovering.section(server['id']))

    def test_one_that_left_a_guest_is_left_alone(self):
        self.fail(RuntimeError('no'), 1, after=True)
        self.stub_out('nova.virt.libvirt.driver.LibvirtDriver.destroy',
                      lambda *args, **kwargs: None)
        server = self.settled(self.create())
        self.assertEqual([server['id']], self.guests())
        code, said = self.bury(server)
        self.assertEqual(_FAILED, code)
        self.assertIn(f'Host {self.host} has a guest of it', said)
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertIsNone(recovering.section(server['id']))

    def test_one_that_left_a_port_is_left_alone(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        self.neutron._ports[self.port]['device_id'] = server['id']
        code, said = self.bury(server)
        self.assertEqual(_FAILED, code)
        self.assertIn(self.port, said)
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertIsNone(recovering.section(server['id']))

    def test_a_claim_that_its_compute_could_not_delete_goes(self):
        self.fail(RuntimeError('no'), 1)
        with fixtures.MonkeyPatch(_CLAIM_GOES, self._refuse):
            server = self.create()
            self._wait_for_assert(lambda: self.assertEqual(
                _FOUND, self.bury(server, dry_run=True)[0]))
            self.assertEqual(1, len(self._get_allocations_by_server_uuid(
                server['id'])))
            self.assertEqual(_BURIED, self.bury(server)[0])
        self.assert_buried(server)

    def _refuse(self, *args, **kwargs):
        raise exception.AllocationDeleteFailed(
            consumer_uuid='one', error='down')

    def test_one_that_its_owner_deletes_meanwhile_is_gone(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        self.useFixture(base.Interception(
            'nova.db.main.api.instance_create',
            after=lambda *args, **kwargs: self.api.delete_server(
                server['id'])))
        self.assertEqual(_FAILED, self.bury(server)[0])
        self._wait_until_deleted(server)
        self.assertEqual([], self.api.get_servers())
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_one_that_is_being_deleted_meanwhile_can_be_archived(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        deleting, buried = threading.Event(), threading.Event()
        delete = threading.Thread(
            target=self.api.delete_server, args=[server['id']])
        self.useFixture(base.Interception(
            'nova.db.main.api.instance_destroy',
            before=lambda *args, **kwargs: deleting.set() or buried.wait(20)))
        self.useFixture(base.Interception(
            'nova.db.main.api.instance_create',
            before=lambda *args, **kwargs: delete.start() or deleting.wait(
                20)))
        self.assertEqual(_FAILED, self.bury(server)[0])
        buried.set()
        delete.join(20)
        self._wait_until_deleted(server)
        archiving.assert_archived(self, server['id'])

    def test_one_whose_state_is_reset_meanwhile_is_left_alone(self):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        self.useFixture(base.Interception(
            'nova.compute.manager.ComputeManager.get_console_output',
            before=lambda *args, **kwargs: self.api.post_server_action(
                server['id'], {'os-resetState': {'state': 'error'}})))
        code, said = self.bury(server)
        self.assertEqual(_FAILED, code)
        self.assertIn('Somebody has changed it meanwhile', said)
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertIsNone(recovering.section(server['id']))

    def test_of_two_who_bury_one_is_told_that_it_has_changed(self):
        self.fail(RuntimeError('no'), 1)
        server, codes = self.settled(self.create()), []
        self.useFixture(base.Interception(
            'nova.db.main.api.action_start',
            before=lambda *args, **kwargs: codes.append(
                self.bury(server)[0])))
        code, said = self.bury(server)
        self.assertEqual((_FAILED, [_BURIED]), (code, codes))
        self.assertIn('Somebody has changed it meanwhile', said)
        self.assert_comes_back(server)

    @ddt.data(*[(step, when) for step in (
        'nova.db.main.api.instance_create', 'nova.db.main.api.constraint')
        for when in ('before', 'after')])
    @ddt.unpack
    def test_if_the_command_dies_a_recovery_ends_it(self, step, when):
        self.fail(RuntimeError('no'), 1)
        server = self.settled(self.create())
        self.useFixture(base.Interception(step, **{when: recovering.crash}))
        self.assertRaises(recovering.Crash, self.bury, server)
        self.assert_shown_once(server['id'], 'ERROR')
        code, found = recovering.recover()
        self.assertEqual((0, [server['id']]), (code, list(found)))
        self.assertEqual((0, {}), recovering.recover())
        if databases.cell_of(server['id']) != 'cell0':
            self.assertEqual('nova.db.main.api.instance_create', step)
            self.assertEqual(_BURIED, self.bury(server)[0])
        self.assert_buried(server)
        self.assert_comes_back(server)

    @releases.needs('casts')
    def test_one_that_had_no_other_host_to_try_is_left_alone(self):
        # The conductor of its cell still releases its ports.
        self.flags(max_attempts=3, group='scheduler')
        self.fail(RuntimeError('no'), 1)
        over = threading.Event()
        self.addCleanup(over.set)
        self.useFixture(base.Interception(
            'nova.conductor.manager.ComputeTaskManager.'
            '_cleanup_allocated_networks',
            before=lambda *args, **kwargs: over.wait(60)))
        self.assert_untouched(
            self.settled(self.create()), 'allowed to try another host')

    def assert_untouched(self, server, reason):
        """Check why a server is not buried, and that nothing has changed."""
        self._wait_for_assert(lambda: self.assertIn(
            reason, self.bury(server, dry_run=True)[1]))
        before = self.state(server)
        code, said = self.bury(server)
        self.assertEqual(_FAILED, code)
        self.assertIn(reason, said)
        self.assertEqual(before, self.state(server))

    def test_without_the_option_it_is_left_alone(self):
        self.flags(rebuild='buried', group='cell0_rebuild')
        self.fail(RuntimeError('no'), 1)
        self.assert_untouched(
            self.settled(self.create()), 'is not kept')

    def test_one_of_several_is_left_alone(self):
        self.fail(RuntimeError('no'))
        self.api.post_server({'server': dict(self._build_server(
            networks='none'), min_count=2)})
        servers = self.api.get_servers()
        self.assertEqual(2, len(servers))
        for server in servers:
            self._wait_for_state_change(server, 'ERROR')
            self.assert_untouched(self.settled(server), 'is not kept')

    def test_one_with_a_volume_is_left_alone(self):
        from nova.tests import fixtures as nova_fixtures
        self.useFixture(nova_fixtures.CinderFixture(self))
        self.fail(RuntimeError('no'), 1)
        volume = nova_fixtures.CinderFixture.IMAGE_BACKED_VOL
        server = self.create(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'source_type': 'volume', 'uuid': volume,
            'destination_type': 'volume'}])
        self.assert_untouched(self.settled(server), 'It has volumes')

    def test_one_on_a_host_is_left_alone(self):
        self.fail(RuntimeError('no'), 2)
        server = self._build_server(networks=[{'port': self.port}])
        server = self._wait_for_state_change(
            self.api.post_server({'server': server}), 'ACTIVE')
        self.assert_untouched(server, 'It has run')
        self.api.post_server_action(
            server['id'], {'os-resetState': {'state': 'error'}})
        self.assert_untouched(server, 'It has run')

    def test_one_that_found_no_host_is_buried_already(self):
        self.api.put_service(
            self.computes[self.host].service_ref.uuid,
            {'status': 'disabled'})
        self.assert_untouched(self.create(), 'It is buried already')


class OwnerTest(FailedTestCase):
    """A rebuild that the owner of such a server asks for."""

    def setUp(self):
        super().setUp()
        self.fail(RuntimeError('no'), 1)
        self.failed = self.settled(self.create())

    def assert_told(self, text, *args, **body):
        """Check that it is refused, and what the owner is told."""
        error = self.assert_refused_without_trace(
            409, self.failed, *args, **body)
        self.assertIn(text, error)
        self.assertNotIn(self.host, error)

    def test_it_is_refused_with_what_an_operator_can_do(self):
        self.assert_told('cell0-rebuild-manage bury')
        self.bury(self.failed)
        self.assert_comes_back(self.failed)

    def test_it_is_refused_with_what_is_against_a_burial(self):
        self.api.post_server_action(
            self.failed['id'], {'os-resetState': {'state': 'error'}})
        self.assert_told('It has an action resetState')

    def test_without_the_option_nova_answers(self):
        self.flags(rebuild='buried', group='cell0_rebuild')
        self.assert_told('is in an invalid state')

    def test_to_a_stock_microversion_nova_answers(self):
        self.assert_told('is in an invalid state', base.STOCK,
                         imageRef=self.failed['image']['id'])
