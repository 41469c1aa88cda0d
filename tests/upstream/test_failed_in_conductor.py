# SPDX-License-Identifier: Apache-2.0

"""What Nova leaves of a create that fails in its conductor.

A host was found, and the conductor of the API fails: at the second check of
the quota, with the resource providers or with the accelerators. This is row A
of doc/source/contributor/never-launched.rst.
"""

from nova import context as nova_context
from nova import exception
from nova import objects

from tests.functional.support import databases
from tests.upstream import failed_builds_base

_MANAGER = 'nova.conductor.manager.ComputeTaskManager'
_PROVIDERS = 'nova.conductor.manager.scheduler_utils.fill_provider_mapping'
_BIND = f'{_MANAGER}._create_and_bind_arq_for_instance'


class FailedInConductorTest(failed_builds_base.FailedBuildTestCase):

    hosts = ('host1', 'host2')

    def test_it_is_in_the_cell_before_its_owner_sees_error(self):
        mapping, build_request, spec = (
            self.held(f'nova.objects.{name}') for name in (
                'InstanceMapping.save', 'BuildRequest.destroy',
                'RequestSpec.destroy'))
        self.lose_quota()
        server = self.create()
        there = {
            'vm': ('error', None), 'host': None, 'tags': ['mine'],
            'mappings': [failed_builds_base.KEPT, failed_builds_base.DOOMED],
            'attached': [1, 1], 'ports': 0, 'guests': [], 'events': []}
        mapping.reached()
        self.assert_statuses(server, 'BUILD', 'BUILD')
        self.shown(server, cell=None, build_request=True, spec=True, **there)
        mapping.release()
        build_request.reached()
        self.assert_statuses(server, 'ERROR', 'BUILD')
        self.shown(
            server, cell='cell1', build_request=True, spec=True, **there)
        build_request.release()
        spec.reached()
        self.assert_statuses(server, 'ERROR', 'ERROR')
        self.shown(
            server, cell='cell1', build_request=False, spec=True, **there)
        spec.release()
        self.shown(server, spec=False, **there)
        self.assertEqual([], self.api.get_instance_actions(server['id']))

    def assert_statuses(self, server, shown, listed):
        self.assertEqual(
            (shown, [listed]),
            (self.api.get_server(server['id'])['status'],
             [found['status'] for found in self.api.get_servers()]))

    def test_what_was_claimed_stays(self):
        self.lose_quota()
        server = self.error(self.create())
        self.shown(server, spec=False)
        self.assertEqual(1, len(self.state(server)['claims']))

    def test_no_member_of_a_batch_over_quota_is_cast(self):
        self.lose_quota()
        batch = self.create_batch()
        for server in batch:
            self.shown(self.error(server), spec=False, host=None, events=[])
            self.assertEqual(1, len(self.state(server)['claims']))

    def assert_members_share_a_failure(self, *actions):
        """Check a batch of which the second fails, when the first is ACTIVE.

        :param actions: of the second.
        """
        first, second = self.create_batch()
        self._wait_for_state_change(first, 'ACTIVE')
        self.shown(first, spec=True)
        self.hold.release()
        for server in (first, second):
            self.shown(self.error(server), spec=False, vm=('error', None))
        self.assertEqual(1, len(self.state(first)['guests']))
        self.assertEqual(
            self.state(first)['guests'], [self.state(first)['host']])
        self.shown(second, host=None, guests=[], events=[])
        self.assertEqual(1, len(self.state(second)['claims']))
        self.assertEqual(list(actions), [
            action['action'] for action in
            self.api.get_instance_actions(second['id'])])

    def held_at_the_second(self, name):
        """Hold the second call of a function, which fails then."""
        self.hold = failed_builds_base.Hold()
        self.addCleanup(self.hold.release)
        calls = []

        def fail_late(*args, **kwargs):
            calls.append(1)
            if len(calls) == 2:
                self.hold()
                raise KeyError('provider')
            return []
        self.stub_out(name, fail_late)

    def test_a_failure_with_providers_ends_members_that_run(self):
        self.held_at_the_second(_PROVIDERS)
        self.assert_members_share_a_failure()

    def test_a_failure_with_accelerators_ends_members_that_run(self):
        self.held_at_the_second(_BIND)
        self.assert_members_share_a_failure('create')

    def test_a_failure_in_a_batch_leaves_a_guest_of_a_member_in_error(self):
        self.held_at_the_second(_PROVIDERS)
        spawned = self.held(failed_builds_base.SPAWN, when='after')
        first, _ = self.create_batch()
        spawned.reached()
        self.hold.release()
        self.shown(self.error(first), spec=False, vm=('error', None))
        spawned.release()
        # The last save of the compute wants another task_state than NULL.
        self.shown(first, host=None, claims=[], vm=('error', None))
        self.assertEqual(1, len(self.guests(first)))
        self.assertEqual('', self.api.get_server(first['id'])['hostId'])

    def test_a_failure_in_a_batch_maps_a_member_that_had_left_back(self):
        self.held_at_the_second(_PROVIDERS)
        self.fail(failed_builds_base.SPAWN, exception.BuildAbortException(
            instance_uuid='first', reason='no'))
        first, _ = self.create_batch()
        self.shown(self.error(first), claims=[])
        # Somebody would have buried it, and maybe built it elsewhere.
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            nova_context.get_admin_context(), first['id'])
        mapping.cell_mapping = self.cell_mappings['cell0']
        mapping.save()
        self.assertEqual('cell0', databases.cell_of(first['id']))
        self.hold.release()
        self.shown(first, cell='cell1', spec=False)

    def test_a_delete_tells_no_compute_and_frees_what_is_left(self):
        self.lose_quota()
        server = self.error(self.create())
        self.shown(server, spec=False)
        told = []
        self.stub_out(
            'nova.compute.rpcapi.ComputeAPI.terminate_instance',
            lambda *args, **kwargs: told.append(1))
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual([], told)
        self.assertEqual({}, self._get_allocations_by_server_uuid(
            server['id']))
        self.assertEqual([], self.cinder.attachments(failed_builds_base.KEPT))
        self.assertEqual(
            {failed_builds_base.DOOMED}, self.cinder.deleted)


class FailedAcceleratorTest(failed_builds_base.FailedBuildTestCase):

    def test_bound_accelerators_are_deleted_and_the_claim_stays(self):
        flavor = self.cyborg.add_device(self)
        bind = self.cyborg.fake_bind_arqs

        def fail(bindings):
            bind(bindings)
            raise exception.AcceleratorRequestBindingFailed(
                arqs=list(bindings), msg='no')
        self.cyborg.mock_bind_arqs.side_effect = fail
        held = self.held(f'{_MANAGER}._cleanup_build_artifacts')
        server = self.create(flavorRef=flavor)
        held.reached()
        # Its owner reached it in its cell before it failed.
        self.shown(server, build_request=False, cell='cell1', spec=True,
                   vm=('building', 'scheduling'))
        self.assertEqual([], self.cyborg.of(server['id']))
        held.release()
        self.shown(self.error(server), spec=False)
        self.assertEqual(2, len(
            self._get_allocations_by_server_uuid(server['id'])))
