# SPDX-License-Identifier: Apache-2.0

"""Whether a compute can tell that a build is over.

An external event ``power-update``, sent as an RPC call, waits for the lock
that a build holds; see doc/source/contributor/never-launched.rst.
"""

import threading

import fixtures
from nova.compute import manager
from nova.compute import rpcapi
from nova import context as nova_context
from nova import exception
from nova import objects
from nova import utils
import oslo_messaging

from cell0_rebuild import cells
from tests.functional.support import databases
from tests.upstream import failed_builds_base
from tests.upstream.failed_builds_base import ALLOCATIONS
from tests.upstream.failed_builds_base import BUILD
from tests.upstream.failed_builds_base import SPAWN

_COMPUTE = 'nova.compute.manager.ComputeManager'
_FENCE = 'compute_power_update'


class OwnLocks(fixtures.Fixture):
    """Gives each compute locks of its own, as if each were a process.

    All of a test are one process, in which they would share them.
    """

    def _setUp(self):
        current = threading.local()
        synchronized = utils.synchronized

        def own(name, *args, **kwargs):
            return synchronized(
                f'{getattr(current, "manager", "")}{name}', *args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch('nova.utils.synchronized', own))
        for method in ('build_and_run_instance', 'power_update'):
            self._tell(method, current)

    def _tell(self, method, current):
        original = getattr(manager.ComputeManager, method)

        def told(compute, *args, **kwargs):
            current.manager = id(compute)
            return original(compute, *args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(f'{_COMPUTE}.{method}', told))


class FenceTestCase(failed_builds_base.FailedBuildTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(OwnLocks())
        self.flags(max_attempts=1, group='scheduler')

    def owner(self, server):
        """Return a context of the owner's request, for the real cell."""
        return cells.targeted(nova_context.RequestContext(
            user_id='user', project_id=server['tenant_id'], is_admin=True),
            self.cell_mappings['cell1'])

    def begin(self, server):
        """Return a context with an action, as a request has one."""
        context = self.owner(server)
        objects.InstanceAction.action_start(
            context, server['id'], 'rebuild', want_result=False)
        return context

    def ask(self, server, host, context=None, timeout=60):
        """Call the compute and return what it answers."""
        server = self.api.get_server(server['id'])
        context = context or self.begin(server)
        row = objects.Instance.get_by_uuid(context, server['id'])
        self.assertEqual('error', row.vm_state)
        api = rpcapi.ComputeAPI()
        event = objects.InstanceExternalEvent(
            context, instance_uuid=server['id'], name='power-update',
            status='completed', tag='POWER_OFF')
        return api.router.client(context).prepare(
            server=host, version=api._ver(context, '5.0'),
            timeout=timeout).call(
                context, 'external_instance_event', instances=[row],
                events=[event])

    def asking(self, server, host):
        """Call the compute in a thread that keeps the claims at the end."""
        self.answered = threading.Event()
        self.found = []

        def run():
            self.found.append(self.ask(server, host))
            self.found.append(self._get_allocations_by_server_uuid(
                server['id']))
            self.answered.set()
        threading.Thread(target=run, daemon=True).start()

    def fences(self, server):
        """Return results and hosts of such calls."""
        return [(result, host) for name, result, host in self.events(server)
                if name == _FENCE]

    def assert_waits(self, server, host):
        """Check that the compute has the call and does not answer yet."""
        self.asking(server, host)
        self._wait_for_assert(lambda: self.assertEqual(
            [(None, host)], self.fences(server)))
        self.assertFalse(self.answered.wait(2))


class FenceTest(FenceTestCase):

    def assert_answered_when_the_claim_is_gone(self):
        hold = self.held(ALLOCATIONS)
        server = self.error(self.create())
        hold.reached()
        self.shown(server, claims=['host1'],
                   events=[(BUILD, 'Success', 'host1')])
        self.assert_waits(server, 'host1')
        hold.release()
        self.assertTrue(self.answered.wait(60))
        self.assertEqual([None, {}], self.found)
        self.assertEqual([('Success', 'host1')], self.fences(server))

    def test_it_is_answered_after_an_aborted_build(self):
        self.fail(SPAWN, exception.BuildAbortException(
            instance_uuid='one', reason='no'))
        self.assert_answered_when_the_claim_is_gone()

    def test_it_is_answered_after_a_build_without_another_try(self):
        self.fail(SPAWN, RuntimeError('no'))
        self.assert_answered_when_the_claim_is_gone()

    def test_it_is_answered_though_the_claim_could_not_be_deleted(self):
        self.fail(SPAWN, RuntimeError('no'))
        self.fail(ALLOCATIONS, exception.AllocationDeleteFailed(
            consumer_uuid='one', error='down'))
        server = self.failed()
        self.assertIsNone(self.ask(server, 'host1'))
        self.shown(server, claims=['host1'])

    def failed(self):
        """Return a server whose build has failed and is over."""
        server = self.error(self.create())
        self.shown(server, events=[(BUILD, 'Success', 'host1')])
        return server

    def assert_changes(self, tables, server, call):
        """Check in which tables a call leaves something."""
        self.shown(server, claims=[])
        context = self.begin(self.api.get_server(server['id']))
        before = databases.dump()
        result = call(context)
        self.assertEqual(tables, {
            found.partition(':')[0].split('.')[1] for found in
            databases.differences(before, databases.dump())})
        return result

    def test_it_leaves_an_event_and_nothing_else(self):
        self.fail(SPAWN, RuntimeError('no'))
        told = []
        self.stub_out('nova.virt.fake.FakeDriver.power_update_event',
                      lambda *args, **kwargs: told.append(1))
        server = self.failed()
        self.assert_changes(
            {'instance_actions', 'instance_actions_events'}, server,
            lambda context: self.ask(server, 'host1', context))
        self.assertEqual([], told)

    def test_without_an_action_it_waits_for_nothing(self):
        self.fail(SPAWN, RuntimeError('no'))
        hold = self.held(ALLOCATIONS)
        server = self.error(self.create())
        hold.reached()
        found = self.api.get_server(server['id'])
        before = databases.dump()
        self.assertRaises(
            exception.InstanceActionNotFound, self.ask, server, 'host1',
            self.owner(found))
        # Nova clears the task_state of a server whose call fails.
        self.assertEqual({'updated_at'}, {
            found.partition(':')[0].split('.')[2] for found in
            databases.differences(before, databases.dump())})
        self.shown(server, claims=['host1'])

    def test_without_a_project_it_takes_the_last_action(self):
        self.fail(SPAWN, RuntimeError('no'))
        server = self.failed()
        self.assertIsNone(self.ask(server, 'host1', self.in_cell()))
        self.assertEqual([('Success', 'host1')], self.fences(server))
        [action] = self.api.get_instance_actions(server['id'])
        self.assertEqual('create', action['action'])

    def test_it_waits_for_a_build_that_was_set_to_error(self):
        hold = self.held(SPAWN)
        server = self.create()
        hold.reached()
        self.reset(server)
        self.error(server)
        self.assert_waits(server, 'host1')
        hold.release()
        self.assertTrue(self.answered.wait(60))
        # Its last save did not find the state that it expects.
        self.shown(server, guests=['host1'], host=None)


class NoFenceTest(FenceTestCase):
    """Where it proves nothing."""

    hosts = ('host1', 'host2')

    def setUp(self):
        super().setUp()
        self.fail(SPAWN, RuntimeError('no'))

    def held_at_its_end(self):
        hold = self.held(ALLOCATIONS)
        server = self.error(self.create())
        hold.reached()
        [(_, _, host)] = self.events(server)
        return server, hold, host

    def test_a_compute_that_never_had_the_server_answers_at_once(self):
        server, _, host = self.held_at_its_end()
        [other] = [name for name in self.hosts if name != host]
        self.assertIsNone(self.ask(server, other))
        self.shown(server, claims=[host])

    def asked_while_down(self):
        """Ask a compute that is down; return the server and the host."""
        server, hold, host = self.held_at_its_end()
        hold.release()
        self.shown(server, claims=[])
        self.computes[host].stop()
        self.assertRaises(
            oslo_messaging.MessagingTimeout, self.ask, server, host,
            timeout=2)
        return server, host

    def test_a_compute_that_is_down_does_not_answer(self):
        server, _ = self.asked_while_down()
        self.assertEqual([], self.fences(server))

    def test_a_message_that_comes_late_leaves_an_event(self):
        server, host = self.asked_while_down()
        before = databases.dump()
        self._start_compute(host)
        self._wait_for_assert(lambda: self.assertEqual(
            [('Success', host)], self.fences(server)))
        self.assertEqual({'instance_actions', 'instance_actions_events'}, {
            found.partition(':')[0].split('.')[1] for found in
            databases.differences(before, databases.dump())})

    def over(self, method):
        """Return what is set when a method of a compute ends, in any way."""
        over = threading.Event()
        original = getattr(manager.ComputeManager, method)

        def watched(*args, **kwargs):
            try:
                return original(*args, **kwargs)
            finally:
                over.set()
        self.useFixture(fixtures.MonkeyPatch(f'{_COMPUTE}.{method}', watched))
        return over

    def test_a_message_for_a_server_that_left_its_cell_leaves_nothing(self):
        server, host = self.asked_while_down()
        self.row(server).destroy(hard_delete=True)
        over = self.over('external_instance_event')
        before = databases.dump()
        self._start_compute(host)
        self.assertTrue(over.wait(60))
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    def test_another_process_of_its_host_answers_at_once(self):
        server, hold, host = self.held_at_its_end()
        self.computes[host].stop()
        self._start_compute(host)
        self.assertIsNone(self.ask(server, host))
        # What the old one does is still to come.
        self.shown(server, claims=[host])
        hold.release()
        self.shown(server, claims=[])

    def test_a_compute_that_has_not_begun_answers_at_once(self):
        hold = self.held(f'{_COMPUTE}.build_and_run_instance')
        server = self.create()
        hold.reached()
        self.reset(server)
        self.error(server)
        [host] = self.state(server)['claims']
        self.assertIsNone(self.ask(server, host))
        self.shown(server, guests=[], claims=[host])
        hold.release()
        self._wait_for_assert(lambda: self.assertIn(
            (BUILD, 'Success', host), self.events(server)))

    def test_computes_know_nothing_of_the_conductor_of_a_cell(self):
        self.flags(max_attempts=3, group='scheduler')
        hold = self.held('nova.conductor.manager.ComputeTaskManager.'
                         '_cleanup_allocated_networks')
        server = self.error(self.create())
        hold.reached()
        for host in self.hosts:
            self.assertIsNone(self.ask(server, host))
        # It would take the port of a server that was built meanwhile.
        port = self.neutron._ports[self.neutron.port_1['id']]
        port['device_id'] = server['id']
        hold.release()
        self._wait_for_assert(
            lambda: self.assertEqual('', port['device_id']))


class RescheduledTest(FenceTestCase):

    hosts = ('host1', 'host2')

    def test_the_events_do_not_tell_that_the_last_build_has_ended(self):
        self.flags(max_attempts=3, group='scheduler')
        errors = [RuntimeError('no'), exception.BuildAbortException(
            instance_uuid='one', reason='no')]

        def spawn(*args, **kwargs):
            error = errors.pop(0)
            if not errors:
                self.hold = self.held(ALLOCATIONS)
            raise error
        self.stub_out(SPAWN, spawn)
        server = self.error(self.create())
        self.hold.reached()
        [(_, _, first), (_, _, last)] = self.events(server)
        told = [(BUILD, 'Success', first), (BUILD, None, last)]
        self.shown(server, events=told, claims=[last])
        self.assert_waits(server, last)
        self.hold.release()
        self.assertTrue(self.answered.wait(60))
        self.shown(server, claims=[])
        self.assertEqual(told, [
            event for event in self.events(server) if event[0] == BUILD])
