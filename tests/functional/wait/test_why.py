# SPDX-License-Identifier: Apache-2.0

"""What ``cell0-rebuild-manage why`` says, on real Placement."""

import json

from nova.db.api import models as api_models
from nova.tests.functional import test_servers_resource_request as nova_tests
import os_traits

from cell0_rebuild import objects
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import whys

ZONE = 'zone-2'
TRAIT = 'CUSTOM_FAST'


class WhyTestCase(whys.WhyMixin, base.FunctionalTestCase):
    """One host, and servers that it does not take."""

    def setUp(self):
        super().setUp()
        self._start_compute('host1')

    def full(self):
        """Leave no VCPU on the host, and bury a server."""
        self.reserve_vcpus('host1', 10)
        return self.bury()

    def test_says_which_resource_is_short(self):
        code, found = self.why(self.full())
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertEqual(
            [('resource', 'VCPU', 1)],
            [(one['kind'], one['what'], one['hosts'])
             for one in found['short']])
        self.assertIn('No host has 1 VCPU free; 1 host has room for the '
                      'rest.', found['text'])

    def test_says_so_when_there_is_room(self):
        server = self.full()
        self.reserve_vcpus('host1', 0)
        code, found = self.why(server)
        self.assertEqual((0, None, 1), (code, found['reason'],
                                        found['hosts']))

    def test_says_which_trait_no_host_with_room_has(self):
        self.placement.put(f'/traits/{TRAIT}', {}, version='1.6')
        server = self._bury_with(**{f'trait:{TRAIT}': 'required'})
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertEqual([('trait', TRAIT)], [
            (one['kind'], one['what']) for one in found['short']])

    def test_tells_of_a_trait_that_placement_does_not_know(self):
        server = self._bury_with(**{f'trait:{TRAIT}': 'required'})
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertIn(TRAIT, found['text'])

    def test_says_that_the_zone_has_no_room(self):
        self._start_compute('host2')
        aggregate = self.admin_api.post_aggregate({'aggregate': {
            'name': 'it', 'availability_zone': ZONE}})
        self.admin_api.add_host_to_aggregate(aggregate['id'], 'host2')
        self.reserve_vcpus('host2', 10)
        server = self.bury(availability_zone=ZONE)
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertEqual({'aggregates', 'resource'}, {
            one['kind'] for one in found['short']})

    def test_says_that_hosts_with_room_are_disabled(self):
        self.no_host_fits()
        code, found = self.why(self.bury())
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertEqual([('forbidden trait', 'COMPUTE_STATUS_DISABLED')], [
            (one['kind'], one['what']) for one in found['short']])
        self.assertIn('Every host with room is disabled', found['text'])

    def test_says_that_more_than_one_thing_is_short(self):
        self.reserve_vcpus('host1', 10)
        self.no_host_fits()
        code, found = self.why(self.bury())
        self.assertEqual(
            (3, 'capacity', []), (code, found['reason'], found['short']))
        self.assertIn('more than one', found['text'])

    def test_claims_nothing(self):
        server = self.full()
        self.reserve_vcpus('host1', 0)
        self.why(server)
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id']))

    def test_asks_for_what_a_create_asks_for(self):
        for extra in ({}, {f'trait:{os_traits.HW_CPU_X86_AVX}': 'required'},
                      {'resources:VCPU': '2', 'hw:mem_page_size': '4'}):
            self.recorded.taken()
            server = self._bury_with(**extra)
            self.assert_asks_for(self.recorded.taken()[0], server)

    def test_tells_of_networks_that_are_unknown(self):
        server = self.full()
        self._forget(server)
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertIn('without cell0-rebuild', found['notes'][0])

    def test_tells_of_networks_that_cannot_be_read(self):
        server = self.full()
        blob = json.loads(databases.spec_of(server['id']).blob)
        databases.update(
            'api', api_models.RequestSpec, server['id'], spec=json.dumps(
                {**blob, objects.SECTION: {'version': '2.0'}}))
        code, found = self.why(server)
        self.assertEqual((3, 'capacity'), (code, found['reason']))
        self.assertIn('cannot be read', found['notes'][0])

    def test_refuses_a_server_that_has_a_host(self):
        code, said = self.why(self.created())
        self.assertEqual(1, code)
        self.assertIn('is not in cell0', said)

    def test_refuses_a_server_that_is_not_there(self):
        code, said = self.why({'id': '7d2f0d35-6d16-4b46-a3dd-5e5ff1e0a1ab'})
        self.assertEqual(1, code)
        self.assertIn('There is no server', said)

    def _bury_with(self, **extra_specs):
        if not any(name.startswith('trait') for name in extra_specs):
            self.reserve_vcpus('host1', 10)
        return self.bury(
            flavorRef=self._create_flavor(extra_spec=extra_specs))

    def _forget(self, server):
        databases.forget(server['id'])


class WhyOfPortsTestCase(
        whys.WhyMixin, nova_tests.PortResourceRequestBasedSchedulingTestBase):
    """Ports that ask for bandwidth."""

    def test_asks_for_the_bandwidth_of_a_port(self):
        port = self.neutron.port_with_resource_request
        self.no_host_fits()
        self.recorded.taken()
        server = self.bury(
            flavorRef=self.flavor_with_group_policy['id'],
            networks=[{'port': port['id']}])
        found = self.assert_asks_for(self.recorded.taken()[0], server)
        self.assertIn(port['id'], {one['group'] for one in found['asked']})
