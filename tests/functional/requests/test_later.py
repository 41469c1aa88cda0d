# SPDX-License-Identifier: Apache-2.0

"""A rebuilt server is scheduled again, where Nova once had bugs with that."""

import ddt
from nova import exception
from nova.virt import fake

from tests.functional import base
from tests.functional.support import databases
from tests import releases

HOST = 'OS-EXT-SRV-ATTR:host'
ZONE = 'OS-EXT-AZ:availability_zone'

# What a RequestSpec has for one request only, by the bug of Nova that it was
# stored for the next one, too.
ONCE = {'ignore_hosts': 1669054, 'retry': 1718512,
        'requested_destination': 1797580, 'requested_resources': 1815153}


class StoredTest(base.FunctionalTestCase):
    """A server was created for a host that was not there, and rebuilt."""

    def setUp(self):
        super().setUp()
        service = self._start_compute('host1').service_ref.uuid
        self._start_compute('host2')
        self.api.put_service(service, {'status': 'disabled'})
        self.server = self.bury(host='host1')
        self.api.put_service(service, {'status': 'enabled'})
        self.rebuild(self.server)
        self.assertEqual('host1', self.active(self.server)[HOST])

    def test_what_is_for_one_request_only_is_not_stored(self):
        spec = databases.spec_of(self.server['id'])
        self.assertEqual({}, {
            name: getattr(spec, name) for name in ONCE
            if name in spec and getattr(spec, name)})

    # Nova's bug 1797580.
    def test_it_can_be_moved_to_another_host(self):
        self.assertEqual('host2', self._migrate_server(self.server)[HOST])

    # 1785339.
    def test_resized_and_back_again_it_asks_for_its_old_flavor(self):
        old = databases.spec_of(self.server['id']).flavor.flavorid
        self._resize_server(self.server, self._create_flavor())
        self.assertNotEqual(
            old, databases.spec_of(self.server['id']).flavor.flavorid)
        self._revert_resize(self.server)
        self.assertEqual(
            old, databases.spec_of(self.server['id']).flavor.flavorid)


@ddt.ddt
class RescheduledTest(base.FunctionalTestCase):
    """The first host that builds a server fails, and there is another."""

    compute_driver = 'fake.FakeRescheduleDriver'

    def setUp(self):
        super().setUp()
        self.addCleanup(fake.FakeRescheduleDriver.rescheduled.clear)
        if not releases.has('valid_group_hint'):
            self.flags(response_validation='warn', group='api')

    def built_on_the_second(self, server):
        """Rebuild it; check that only the second host has it."""
        for host in ('host1', 'host2'):
            self._start_compute(host)
        self.rebuild(server)
        server = self.active(server)
        [provider] = self._get_allocations_by_server_uuid(server['id'])
        self.assertEqual(
            provider, self._get_provider_uuid_by_host(server[HOST]))
        self.assertTrue(
            fake.FakeRescheduleDriver.rescheduled[server['id']])
        return server

    # Nova's bugs 1671648 and 1736946.
    def test_it_is_built_on_the_other(self):
        server = self.built_on_the_second(self.bury())
        self.assert_shown_once(server['id'], 'ACTIVE')
        self.assertEqual(
            [], databases.dump()['api']['build_requests'])

    # 1718512.
    def test_it_can_be_moved_to_the_first_one_later(self):
        server = self.built_on_the_second(self.bury())
        [other] = {'host1', 'host2'} - {server[HOST]}
        self.assertEqual(other, self._migrate_server(server)[HOST])

    # 1719730.
    @ddt.data('affinity', 'anti-affinity')
    def test_a_member_of_a_group_is_built_on_the_other(self, policy):
        group = self.api.post_server_groups(
            {'name': 'group', 'policy': policy})
        server = self.api.api_post('/servers', {
            'server': self._build_server(networks='none'),
            'os:scheduler_hints': {'group': group['id']}}).body['server']
        self.built_on_the_second(
            self._wait_for_state_change(server, 'ERROR'))

    # 1781286.
    def test_it_is_in_the_zone_of_the_other(self):
        server = self.bury()
        for host in ('host1', 'host2'):
            self._start_compute(host)
            self.api.add_host_to_aggregate(
                self._create_aggregate(host, f'zone of {host}'), host)
        self.rebuild(server)
        server = self.active(server)
        self.assertEqual(f'zone of {server[HOST]}', server[ZONE])

    # 1837955.
    def test_without_room_on_the_other_by_then_it_fails(self):
        server = self.bury()
        for host in ('host1', 'host2'):
            self._start_compute(host)

        def fail(driver, context, instance, *args, **kwargs):
            [other] = {'host1', 'host2'} - {instance.host}
            self.reserve_vcpus(other, self._get_provider_inventory(
                self._get_provider_uuid_by_host(other))['VCPU']['total'])
            raise exception.ComputeResourcesUnavailable(reason='a test')
        self.stub_out('nova.virt.fake.FakeRescheduleDriver.spawn', fail)
        self.rebuild(server)
        self._assert_failed_on_a_host(server)

    # 1845291.
    def test_without_leave_to_go_to_the_other_it_fails(self):
        server = self.bury(availability_zone='nova:host1')
        for host in ('host1', 'host2'):
            self._start_compute(host)
        self.rebuild(server)
        self._assert_failed_on_a_host(server)

    def _assert_failed_on_a_host(self, server):
        self._wait_for_assert(lambda: self.assertEqual(
            'cell1', databases.cell_of(server['id'])))
        self._wait_for_state_change(server, 'ERROR')
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        self.assert_shown_once(server['id'], 'ERROR')


class CellTest(base.FunctionalTestCase):

    NUMBER_OF_CELLS = 2

    # Nova's bug 1823370.
    def test_evacuated_it_stays_in_its_cell(self):
        server = self.bury()
        source = self._start_compute('host1', cell_name='cell2')
        self.rebuild(server)
        self.active(server)
        self._start_compute('host2', cell_name='cell1')
        self._start_compute('host3', cell_name='cell2')
        source.stop()
        self.api.put_service_force_down(source.service_ref.uuid, True)
        self.assertEqual('host3', self._evacuate_server(server)[HOST])
        self.assertEqual('cell2', databases.cell_of(server['id']))
