# SPDX-License-Identifier: Apache-2.0

"""What Nova leaves of a create that fails on computes.

Each row B to E of doc/source/contributor/never-launched.rst, held after its
owner sees ERROR.
"""

import datetime
import time

from nova.cmd import manage
from nova.compute import rpcapi
from nova.db.main import models
from nova import exception
from nova import objects
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from tests.functional import base
from tests.functional.support import databases
from tests import releases
from tests.upstream import failed_builds_base
from tests.upstream.failed_builds_base import BUILD
from tests.upstream.failed_builds_base import DOOMED
from tests.upstream.failed_builds_base import KEPT
from tests.upstream.failed_builds_base import SPAWN

_COMPUTE = 'nova.compute.manager.ComputeManager'
_CLAIM = 'nova.compute.resource_tracker.ResourceTracker.instance_claim'
_NO_ROOM = exception.ComputeResourcesUnavailable(reason='no')


def _abort():
    return exception.BuildAbortException(instance_uuid='one', reason='no')


class AbortedTest(failed_builds_base.FailedBuildTestCase):
    """Row B: a build that is not tried elsewhere."""

    def test_the_claim_goes_after_error_and_after_the_event_has_ended(self):
        self.fail(SPAWN, _abort())
        hold = self.held(failed_builds_base.ALLOCATIONS)
        server = self.error(self.create())
        hold.reached()
        there = {
            'vm': ('error', None), 'host': None, 'cell': 'cell1',
            'build_request': False, 'spec': True, 'ports': 0, 'guests': [],
            'attached': [0, 0], 'mappings': [KEPT], 'deleted': [DOOMED],
            'events': [(BUILD, 'Success', 'host1')], 'tags': ['mine'],
            'network_allocated': 'False'}
        self.shown(server, claims=['host1'], **there)
        hold.release()
        self.shown(server, claims=[], **there)

    def test_the_claim_stays_if_placement_does_not_answer(self):
        self.fail(SPAWN, _abort())
        self.fail(failed_builds_base.ALLOCATIONS,
                  exception.AllocationDeleteFailed(
                      consumer_uuid='one', error='down'))
        server = self.error(self.create())
        self.shown(server, events=[(BUILD, 'Success', 'host1')], host=None,
                   claims=['host1'])

    def test_ports_stay_if_neutron_does_not_answer(self):
        self.fail(SPAWN, _abort())
        self.fail(failed_builds_base.NETWORKS, RuntimeError('down'))
        server = self.error(self.create())
        self.shown(server, claims=[], ports=2, host=None)
        # It is 'True', or there is none: a save that meets the thread that
        # allocates the networks loses it.
        self.assertNotEqual(
            'False', self.state(server)['network_allocated'])

    def spawned(self, error=None, change=lambda server: None):
        """Have the guest run, and then something happen in the spawn."""
        def act(*args, **kwargs):
            change(self.api.get_servers()[0])
            if error:
                raise error
        self.useFixture(base.Interception(SPAWN, after=act))
        server = self.error(self.create())
        self.shown(server, claims=[], host=None, guests=['host1'], ports=0,
                   events=[(BUILD, 'Success', 'host1')])
        return server

    def fault(self, server):
        return self.api.get_server(server['id'])['fault']['message']

    def test_a_guest_that_cannot_be_destroyed_runs_on(self):
        self.fail('nova.virt.fake.FakeDriver.destroy', RuntimeError('no'))
        server = self.spawned(RuntimeError('why'))
        self.assertIn('aborted: why', self.fault(server))

    def test_a_guest_whose_state_was_reset_runs_on(self):
        server = self.spawned(change=self.reset)
        self.shown(server, attached=[0, 0], deleted=[DOOMED],
                   mappings=[KEPT], network_allocated='False')

    def test_a_guest_runs_on_if_the_database_goes_away_at_the_end(self):
        self.fail(f'{_COMPUTE}._update_instance_after_spawn',
                  db_exc.DBConnectionError(Exception('down')))
        self.assertEqual('DBConnectionError', self.fault(self.spawned()))

    def test_a_delete_leaves_the_guest_that_runs_on(self):
        server = self.spawned(change=self.reset)
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual(['host1'], self.guests(server))


class NoRetryTest(failed_builds_base.FailedBuildTestCase):
    """Row C: a build that may be tried on one host only."""

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')

    def assert_claim_goes_last(self, **there):
        hold = self.held(failed_builds_base.ALLOCATIONS)
        server = self.error(self.asked_for())
        hold.reached()
        there = {
            'vm': ('error', None), 'host': None, 'ports': 0, 'guests': [],
            'mappings': [KEPT, DOOMED], 'deleted': [], 'spec': True,
            'events': [(BUILD, 'Success', 'host1')], **there}
        self.shown(server, claims=['host1'], **there)
        hold.release()
        self.shown(server, claims=[], **there)
        return server

    def asked_for(self):
        return self.create()

    def test_attachments_stay_if_the_claim_failed(self):
        self.fail(_CLAIM, _NO_ROOM)
        self.assert_claim_goes_last(attached=[1, 1], network_allocated='False')

    def test_attachments_go_if_the_spawn_failed(self):
        self.fail(SPAWN, RuntimeError('no'))
        server = self.assert_claim_goes_last(attached=[0, 0])
        # Their mappings still name the attachments.
        self.assertEqual([True, True], [
            mapping.attachment_id is not None for mapping in
            objects.BlockDeviceMappingList.get_by_instance_uuid(
                self.in_cell(), server['id']) if mapping.volume_id])

    def test_a_forced_host_is_one_attempt_too(self):
        self.flags(max_attempts=3, group='scheduler')
        self.fail(SPAWN, RuntimeError('no'))
        self.asked_for = lambda: self.create(
            availability_zone='nova:host1')
        self.assert_claim_goes_last(attached=[0, 0])

    @releases.needs('policy_exception')
    def test_the_claim_stays_if_a_group_policy_is_violated(self):
        self.fail(f'{_COMPUTE}._validate_instance_group_policy',
                  exception.GroupAffinityViolation(
                      instance_uuid='one', policy='affinity'))
        server = self.error(self.create())
        self.shown(server, host=None, claims=['host1'],
                   events=[(BUILD, 'Success', 'host1')], ports=0)


class RescheduledTest(failed_builds_base.FailedBuildTestCase):
    """Row D: no host is left to try."""

    hosts = ('host1', 'host2')
    there = {
        'vm': ('error', None), 'host': None, 'mappings': [KEPT, DOOMED],
        'deleted': [], 'guests': [], 'spec': True,
        'network_allocated': 'False'}

    def setUp(self):
        super().setUp()
        cleanup = ('nova.conductor.manager.ComputeTaskManager.'
                   '_cleanup_allocated_networks')
        self.hold = self.held(cleanup)
        self.ended = self.held(cleanup, when='after')

    def fail_on_both(self, name, error, **there):
        self.fail(name, error)
        server = self.error(self.create())
        self.hold.reached()
        self.shown(server, claims=[], ports=0, **{**self.there, **there})
        return server

    def test_of_its_end_one_time_stamp_tells_alone(self):
        server = self.fail_on_both(
            SPAWN, RuntimeError('no'), attached=[0, 0])
        self._wait_for_assert(lambda: self.assertEqual(
            databases.dump(), self._later()))
        before = databases.dump()
        self.hold.release()
        self.ended.reached()
        self.shown(server, claims=[], ports=0, **self.there)
        self.assertEqual(
            ['cell1.instance_extra.updated_at'],
            [found.partition(':')[0] for found in databases.differences(
                before, databases.dump())])

    def _later(self):
        # The last compute has asked the conductor, and ends its event.
        time.sleep(1)
        return databases.dump()

    def test_attachments_stay_if_no_spawn_failed(self):
        self.fail_on_both(_CLAIM, _NO_ROOM, attached=[1, 1])

    def test_every_end_of_a_build_is_written_to_its_first_event(self):
        server = self.fail_on_both(SPAWN, RuntimeError('no'))
        [(name, result, first), (other, other_result, second)] = (
            self.events(server))
        self.assertEqual([BUILD, BUILD], [name, other])
        self.assertEqual({'host1', 'host2'}, {first, second})
        # The build on the second has ended as well.
        self.assertEqual(['Success', None], [result, other_result])

    def test_ports_that_come_to_the_server_meanwhile_are_taken(self):
        server = self.fail_on_both(SPAWN, RuntimeError('no'))
        port = self.neutron._ports[self.neutron.port_1['id']]
        port['device_id'] = server['id']
        self.hold.release()
        self.ended.reached()
        self.assertEqual('', port['device_id'])

    def test_the_claim_stays_if_the_conductor_fails_after_it(self):
        self.fail(SPAWN, RuntimeError('no'))
        self.fail('nova.conductor.manager.scheduler_utils.'
                  'fill_provider_mapping', KeyError('provider'), calls=[2])
        server = self.error(self.create())
        self.hold.release()
        self.ended.reached()
        self.shown(server, **self.there)
        [tried] = [host for _, _, host in self.events(server)]
        self.assertEqual(
            [host for host in self.hosts if host != tried],
            self.state(server)['claims'])


class InterruptedTest(failed_builds_base.FailedBuildTestCase):
    """Row E: it shows ERROR, and its build may go on."""

    hosts = ('host1', 'host2')

    def spawning(self):
        """Return a server that is being spawned, what holds it, its host."""
        hold = self.held(SPAWN)
        server = self.create()
        hold.reached()
        [(name, result, host)] = self.events(server)
        self.assertEqual((BUILD, None), (name, result))
        return server, hold, host

    def test_after_a_restart_of_its_compute_it_keeps_its_host(self):
        server, _, host = self.spawning()
        self._start_compute(host)
        self.error(server)
        self.shown(server, vm=('error', None), host=host, claims=[host],
                   ports=2, attached=[1, 1], events=[(BUILD, None, host)])
        self.assertEqual(
            host, self.api.get_server(server['id'])[
                'OS-EXT-SRV-ATTR:host'])

    def late(self, server, host):
        """Have its build take too long."""
        self.flags(instance_build_timeout=60)
        databases.update('cell1', models.Instance, server['id'],
                         created_at=timeutils.utcnow() -
                         datetime.timedelta(hours=1))
        self.computes[host].manager._check_instance_build_time(
            self.in_cell())
        self.error(server)

    def test_a_build_that_took_too_long_goes_on(self):
        server, hold, host = self.spawning()
        self.late(server, host)
        self.shown(server, vm=('error', 'spawning'), host=host,
                   claims=[host], events=[(BUILD, None, host)])
        hold.release()
        self._wait_for_state_change(server, 'ACTIVE')
        self.shown(server, claims=[host], guests=[host])

    def test_a_build_that_took_too_long_goes_on_on_another_host(self):
        self.fail(SPAWN, RuntimeError('no'), calls=[1])
        server, hold, host = self.spawning()
        self.late(server, host)
        second = self.held(f'{_COMPUTE}._do_build_and_run_instance')
        hold.release()
        second.reached()
        [other] = [name for name in self.hosts if name != host]
        # The task_state is all that tells it from one that is at rest.
        self.shown(server, vm=('error', 'scheduling'), host=None,
                   claims=[other], events=[(BUILD, 'Success', host)])
        second.release()
        self._wait_for_state_change(server, 'ACTIVE')
        self.shown(server, claims=[other], guests=[other])

    def test_a_queued_build_begins_after_a_reset_of_the_state(self):
        hold = self.held(f'{_COMPUTE}._do_build_and_run_instance')
        server = self.create()
        hold.reached()
        self.reset(server)
        self.error(server)
        self.shown(server, vm=('error', None), host=None, events=[])
        self.assertEqual(1, len(self.state(server)['claims']))
        hold.release()
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(
            self.state(server)['claims'], self.state(server)['guests'])


class LateTest(failed_builds_base.FailedBuildTestCase):
    """What a compute or a message does that comes too late."""

    hosts = ('host1', 'host2')

    def setUp(self):
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')

    def move_claim(self, server, host):
        """Give the server the claim that it would have on another host."""
        path = f'/allocations/{server["id"]}'
        found = self.placement.get(path, version='1.28').body
        [claim] = found['allocations'].values()
        found['allocations'] = {
            self._get_provider_uuid_by_host(host): {
                'resources': claim['resources']}}
        self.assertEqual(204, self.placement.put(
            path, found, version='1.28').status)
        self.assertEqual([host], self.state(server)['claims'])

    def test_the_last_step_of_a_compute_takes_any_claim(self):
        self.fail(SPAWN, RuntimeError('no'))
        hold = self.held(failed_builds_base.ALLOCATIONS)
        server = self.error(self.create())
        hold.reached()
        [(_, _, host)] = self.events(server)
        [other] = [name for name in self.hosts if name != host]
        self.move_claim(server, other)
        hold.release()
        self.shown(server, claims=[])

    def test_a_compute_whose_server_was_taken_away_takes_any_claim(self):
        self.fail(SPAWN, RuntimeError('no'))
        hold = self.held(
            f'{_COMPUTE}._set_instance_obj_error_state', when='after')
        server = self.error(self.create())
        hold.reached()
        [(_, _, host)] = self.events(server)
        [other] = [name for name in self.hosts if name != host]
        self.move_claim(server, other)
        self.row(server).destroy(hard_delete=True)
        hold.release()
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))

    def build_late(self, change=lambda server: None, **body):
        """Send the message of a build again, to the other host.

        :returns: the server that it built first, its host and the other.
        """
        sent = []
        self.useFixture(base.Interception(
            base.CAST, before=lambda *args, **kwargs: sent.append(
                (args[1:], kwargs))))
        server = self._wait_for_state_change(self.create(**body), 'ACTIVE')
        host = server['OS-EXT-SRV-ATTR:host']
        [other] = [name for name in self.hosts if name != host]
        self.shown(server, claims=[host])
        change(server)
        [(args, kwargs)] = sent
        rpcapi.ComputeAPI().build_and_run_instance(
            *args, **{**kwargs, 'host': other, 'node': other})
        return server, host, other

    def test_a_late_message_builds_a_second_guest(self):
        server, _, other = self.build_late(
            networks='none', block_device_mapping_v2=[])
        self.shown(server, guests=[*self.hosts], host=other,
                   vm=('active', None))

    def test_a_late_message_takes_volumes_ports_and_claim_of_a_guest(self):
        server, host, _ = self.build_late()
        self.shown(server, guests=[host], host=None, vm=('error', None),
                   ports=0, deleted=[DOOMED], claims=[], mappings=[KEPT])

    def forget_actions(self, server):
        with databases.engines()['cell1'].begin() as connection:
            for table in (models.InstanceActionEvent, models.InstanceAction):
                connection.execute(table.__table__.delete())

    def test_a_late_message_without_an_action_takes_the_claim(self):
        server, host, _ = self.build_late(self.forget_actions)
        self.shown(server, claims=[], guests=[host], host=host,
                   vm=('active', None))

    def test_a_claim_that_was_taken_is_healed_and_a_port_is_not(self):
        server, host, _ = self.build_late(self.forget_actions)
        self.shown(server, claims=[], ports=2)
        self.neutron._ports[self.neutron.port_1['id']]['device_id'] = ''
        self.assertEqual(0, manage.PlacementCommands().heal_allocations(
            instance_uuid=server['id']))
        self.shown(server, claims=[host], ports=1)
