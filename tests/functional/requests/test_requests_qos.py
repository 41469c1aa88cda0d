# SPDX-License-Identifier: Apache-2.0

"""Ports with resource requests (QoS minimum bandwidth, packet rate)."""

from nova.tests.functional import test_servers_resource_request as nova_tests

from tests.functional.support import asking


class _QosTestCase(
        asking.AskingMixin,
        nova_tests.PortResourceRequestBasedSchedulingTestBase):

    def body(self, *ports):
        return {'flavorRef': self.flavor_with_group_policy['id'],
                'networks': [{'port': port['id']} for port in ports]}


class QosTest(_QosTestCase):

    def test_a_port_with_minimum_bandwidth_gets_it(self):
        port = self.neutron.port_with_resource_request
        server, asked = self.made_anew(**self.body(port))
        self.assertEqual(['', port['id']], asking.suffixes(asked))
        self.assertEqual(
            self.ovs_bridge_rp_per_host[self.compute1_rp_uuid],
            self.got(server)['bindings'][port['id']]['allocation'])

    def test_two_ports_with_minimum_bandwidth_and_one_without(self):
        normal = self.neutron.port_with_resource_request
        direct = self.neutron.port_with_sriov_resource_request
        server, asked = self.made_anew(
            burials=3, **self.body(self.neutron.port_1, normal, direct))
        self.assertEqual(
            sorted(['', normal['id'], direct['id']]),
            asking.suffixes(asked))
        [request] = asking.instance_of(server).pci_requests.requests
        self.assertEqual(direct['id'], request.requester_id)

    def test_a_port_that_is_gone_is_400(self):
        port = self.neutron.port_with_resource_request
        self.no_host_fits()
        server = self.bury(**self.body(port))
        self.hosts_fit()
        self.neutron.delete_port(port['id'])
        self.assertIn('could not be found',
                      self.assert_refused_without_trace(400, server))

    def test_what_the_port_asks_for_now_is_asked_for(self):
        port = self.neutron.port_with_resource_request
        self.no_host_fits()
        server = self.bury(**self.body(port))
        self.hosts_fit()
        self.recorded.taken()
        self.neutron._ports[port['id']]['resource_request']['resources'] = {
            'NET_BW_EGR_KILOBIT_PER_SEC': 7}
        self.rebuild(server)
        self.active(server)
        asked = asking.resources(self.recorded.taken()[0])
        self.assertEqual(7, asked['NET_BW_EGR_KILOBIT_PER_SEC'])
        self.assertNotIn('NET_BW_IGR_KILOBIT_PER_SEC', asked)


class ExtendedQosTest(_QosTestCase):
    """Neutron says more than one request group for a port."""

    def setUp(self):
        super().setUp()
        self.neutron = self.useFixture(
            nova_tests.MultiGroupResourceRequestNeutronFixture(self))
        self.port = self.neutron.port_with_resource_request

    def test_a_port_with_bandwidth_and_packet_rate_gets_both(self):
        server, asked = self.made_anew(burials=2, **self.body(self.port))
        wanted = self.port['resource_request']['request_groups']
        self.assertEqual(
            sorted(['', *(group['id'] for group in wanted)]),
            asking.suffixes(asked))
        self.assertIn('same_subtree', dict(asked[0][1]))
        self.assertEqual(
            {group['id'] for group in wanted},
            set(self.got(server)['bindings'][self.port['id']]['allocation']))

    def test_computes_that_are_too_old_for_it_are_400_as_for_a_create(self):
        self.no_host_fits()
        server = self.bury(**self.body(self.port))
        self.assert_refused_as_a_create(
            400, server, self.body(self.port), computes=57)
