# SPDX-License-Identifier: Apache-2.0

"""Each way in which Nova buries a server, and each in which it does not.

All that Nova buries can be rebuilt. A server that failed later is in a real
cell; its rebuild is refused as by Nova, and it stays as it is.
doc/source/contributor/burials.rst is about both.
"""

import threading

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova.cmd import manage
from nova import exception
from nova.scheduler.client import report
from nova.tests.functional import test_servers as nova_tests
from oslo_db import exception as db_exc
from oslo_limit import fixture as limit_fixture

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import host_mappings
from tests.functional.moves import burials_base

_BUILD = 'compute__do_build_and_run_instance'
_NO_HOST = 'No valid host was found.'


class BuriedTest(burials_base.OutcomeMixin, base.FunctionalTestCase):

    def test_without_a_candidate_of_placement_it_is_rebuilt(self):
        server = self.bury()
        self._start_compute('host1')
        self.assert_is_rebuilt(server, _NO_HOST)

    def test_without_a_host_that_passes_the_filters_it_is_rebuilt(self):
        self._start_compute('host1')
        group = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})
        for status in ('ACTIVE', 'ERROR'):
            server = self._wait_for_state_change(
                self.create(group['id']), status)
        self._start_compute('host2')
        rebuilt = self.assert_is_rebuilt(server, _NO_HOST)
        self.assertEqual('host2', rebuilt['OS-EXT-SRV-ATTR:host'])

    def test_after_a_request_filter_that_failed_it_is_rebuilt(self):
        self._start_compute('host1')
        self.flags(limit_tenants_to_placement_aggregate=True,
                   placement_aggregate_required_for_tenants=True,
                   group='scheduler')
        server = self.bury()
        self.flags(placement_aggregate_required_for_tenants=False,
                   group='scheduler')
        self.assert_is_rebuilt(server, _NO_HOST)

    def test_without_a_connection_to_placement_it_is_rebuilt(self):
        self._start_compute('host1')

        def unreachable(*args, **kwargs):
            raise ks_exc.ConnectFailure
        with fixtures.MonkeyPatch(
                'nova.scheduler.client.report.SchedulerReportClient.get',
                unreachable):
            server = self.bury()
        self.assert_is_rebuilt(server, _NO_HOST)

    def test_after_a_claim_that_placement_did_not_take_it_is_rebuilt(self):
        self._start_compute('host1')
        get = report.SchedulerReportClient.get

        def fill_meanwhile(client, url, *args, **kwargs):
            answer = get(client, url, *args, **kwargs)
            if url.startswith('/allocation_candidates'):
                self.reserve_vcpus('host1', self._inventory()['total'])
            return answer
        with fixtures.MonkeyPatch(
                'nova.scheduler.client.report.SchedulerReportClient.get',
                fill_meanwhile):
            server = self.bury()
        self.reserve_vcpus('host1', 0)
        self.assert_is_rebuilt(server, _NO_HOST)

    def _inventory(self):
        return self._get_provider_inventory(
            self._get_provider_uuid_by_name('host1'))['VCPU']

    def test_after_an_error_inside_the_scheduler_it_is_rebuilt(self):
        self._start_compute('host1')

        def fail(*args, **kwargs):
            raise db_exc.DBConnectionError
        with fixtures.MonkeyPatch(
                'nova.scheduler.host_manager.HostManager.'
                'get_host_states_by_uuids', fail):
            server = self.bury()
        self.assert_is_rebuilt(server, 'DBConnectionError')

    def test_on_a_host_that_was_in_no_cell_yet_it_is_rebuilt(self):
        self._start_compute('host1')
        host_mappings.remove('host1')
        server = self.bury()
        # Nova leaves what was claimed.
        self.assertEqual(
            1, len(self._get_allocations_by_server_uuid(server['id'])))
        host_mappings.add('host1', self.cell_mappings['cell1'])
        self.assert_is_rebuilt(
            server, "Host 'host1' is not mapped to any cell")

    def test_of_several_only_one_may_be_buried_and_is_rebuilt(self):
        for host in ('host1', 'host2'):
            self._start_compute(host)
        host_mappings.remove('host2')
        group = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})
        self.create(group['id'], min_count=2)
        self._wait_for_assert(lambda: self.assertEqual(
            ['ACTIVE', 'ERROR'],
            sorted(server['status'] for server in self.api.get_servers())))
        [server] = self.api.get_servers(search_opts={'status': 'ERROR'})
        server = self._wait_for_state_change(server, 'ERROR')
        host_mappings.add('host2', self.cell_mappings['cell1'])
        rebuilt = self.assert_is_rebuilt(
            server, "Host 'host2' is not mapped to any cell")
        self.assertEqual('host2', rebuilt['OS-EXT-SRV-ATTR:host'])

    def test_several_of_one_request_are_buried_and_each_is_rebuilt(self):
        self.create(min_count=3)
        self._wait_for_assert(lambda: self.assertEqual(
            ['ERROR'] * 3,
            [server['status'] for server in self.api.get_servers()]))
        self._start_compute('host1')
        for server in self.api.get_servers():
            self.assert_is_rebuilt(server, _NO_HOST)


class SilentSchedulerTest(burials_base.OutcomeMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self._start_compute(host)
        self.may_go_on = threading.Event()
        self.addCleanup(self.may_go_on.set)
        self.useFixture(base.Interception(
            'nova.scheduler.manager.SchedulerManager._select_destinations',
            before=lambda *args, **kwargs: self.may_go_on.wait(60)))
        self.flags(long_rpc_timeout=1)
        self.server = self.bury()
        self.flags(long_rpc_timeout=30)

    def test_without_an_answer_of_the_scheduler_it_is_rebuilt(self):
        self.assert_is_rebuilt(self.server, 'MessagingTimeout')

    def test_a_claim_that_came_after_the_rebuild_is_found_by_an_audit(self):
        rebuilt = self.assert_is_rebuilt(self.server, 'MessagingTimeout')
        own = self._get_allocations_by_server_uuid(rebuilt['id'])
        self.may_go_on.set()
        self._wait_for_assert(lambda: self.assertEqual(
            2, len(self._get_allocations_by_server_uuid(rebuilt['id']))))
        self.assertEqual(4, manage.PlacementCommands().audit(delete=True))
        self.assertEqual(
            list(own),
            list(self._get_allocations_by_server_uuid(rebuilt['id'])))

    def test_with_a_claim_that_came_after_the_burial_it_is_rebuilt(self):
        self.may_go_on.set()
        self._wait_for_assert(lambda: self.assertEqual(
            1, len(self._get_allocations_by_server_uuid(self.server['id']))))
        self.assert_is_rebuilt(self.server, 'MessagingTimeout')


class FailedOnHostsTest(burials_base.OutcomeMixin, base.FunctionalTestCase):
    """Computes have tried; the server is in their cell."""

    def setUp(self):
        super().setUp()
        self.tried = []
        self.stub_out('nova.virt.fake.FakeDriver.spawn', self._fail)
        self.error = exception.ComputeResourcesUnavailable(reason='no')

    def _fail(self, driver, *args, **kwargs):
        self.tried.append(driver._host)
        raise self.error

    def _start_computes(self, number):
        for host in range(number):
            self._start_compute(f'host{host}')

    def test_with_as_many_tries_as_allowed_it_is_refused(self):
        self._start_computes(4)
        server = self.create()
        self.assert_is_refused(
            server, 'Exceeded max scheduling attempts 3',
            ('create', {_BUILD: 'Success'}))
        self.assertEqual(3, len(set(self.tried)))

    def test_with_a_try_on_every_host_there_is_it_is_refused(self):
        self._start_computes(2)
        server = self.create()
        self.assert_is_refused(
            server, 'Exhausted all hosts available',
            ('create', {_BUILD: 'Success'}))
        self.assertEqual(['host0', 'host1'], sorted(self.tried))

    def test_with_a_build_that_may_not_be_tried_elsewhere_it_is_refused(self):
        self._start_computes(2)
        self.error = exception.BuildAbortException(
            instance_uuid='one', reason='no')
        server = self.create()
        self.assert_is_refused(
            server, 'aborted: no', ('create', {_BUILD: 'Success'}))
        self.assertEqual(1, len(self.tried))

    def test_with_one_try_allowed_and_gone_it_is_refused(self):
        self.flags(max_attempts=1, group='scheduler')
        self._start_computes(2)
        server = self.create()
        self.assert_is_refused(
            server, 'Insufficient compute resources: no',
            ('create', {_BUILD: 'Success'}))
        self.assertEqual(1, len(self.tried))

    def test_a_rebuild_that_fails_on_hosts_is_not_buried_again(self):
        server = self.bury()
        self._start_computes(2)
        self.rebuild(server)
        self._wait_for_assert(lambda: self.assertIsNone(
            databases.spec_of(server['id']).retained))
        self.assert_is_refused(
            server, 'Exhausted all hosts available',
            ('create', {burials_base.BURIAL: 'Error'}),
            ('rebuild', {_BUILD: 'Success'}))
        self.assertEqual([None, 'Error'], self.messages(server))
        self.assertEqual(['host0', 'host1'], sorted(self.tried))


class FailedInConductorTest(
        burials_base.OutcomeMixin, base.FunctionalTestCase):
    """A host was found; the server is in its cell, and no compute tried."""

    def setUp(self):
        super().setUp()
        self._start_compute('host1')

    def test_over_quota_after_scheduling_it_is_refused(self):
        server = self.create_while(
            lambda: self.flags(instances=0, group='quota'))
        self.assert_is_refused(server, 'Quota exceeded')

    def test_over_unified_limits_after_scheduling_it_is_refused(self):
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        limits = {'servers': 1, 'class:VCPU': 2, 'class:MEMORY_MB': 512,
                  'class:DISK_GB': 1}
        self.useFixture(limit_fixture.LimitFixture(
            {**limits, 'server_metadata_items': 1},
            {self.api.project_id: limits}))
        flavor = self._create_flavor(
            vcpu=2, memory_mb=512, disk=1, ephemeral=0, swap=0)
        server = self.create_while(
            lambda: limits.update({'class:VCPU': 1}), flavorRef=flavor)
        self.assert_is_refused(server, 'class:VCPU is over limit')


class FailedAcceleratorTest(
        burials_base.OutcomeMixin, base.Cell0RebuildMixin,
        nova_tests.AcceleratorServerBase):

    def setUp(self):
        super().setUp()
        self.flavor = self._create_acc_flavor()

    def test_without_a_bound_accelerator_it_is_refused(self):
        self.cyborg.mock_bind_arqs.side_effect = (
            exception.AcceleratorRequestBindingFailed(arqs=[], msg='no'))
        self.assert_is_refused(
            self.create(flavorRef=self.flavor),
            'Failed to bind accelerator requests', ('create', {}))

    def test_without_a_provider_of_its_device_it_is_refused(self):
        def fail(*args, **kwargs):
            raise KeyError('device_profile_0')
        self.stub_out(burials_base.PROVIDERS, fail)
        self.assert_is_refused(self.create(flavorRef=self.flavor), 'KeyError')
