# SPDX-License-Identifier: Apache-2.0

"""The networks that the owner asked for are there after the rebuild."""

from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional.support import databases

PORT = nova_fixtures.NeutronFixture.port_1
NETWORK = nova_fixtures.NeutronFixture.network_1


class NetworksTest(base.FunctionalTestCase):

    def rebuilt(self, networks, **body):
        """Create with networks, bury, rebuild, and return the server."""
        server = self.bury(networks=networks, **body)
        self._start_compute('host1')
        self.rebuild(server)
        return self.active(server)

    def ports_of(self, server):
        """Return the ports that Neutron has bound for the server."""
        return [port for port in self.neutron._ports.values()
                if port.get('device_id') == server['id']]

    def addresses_of(self, server):
        return [address['addr'] for network in server['addresses'].values()
                for address in network]

    def test_a_requested_port_is_bound(self):
        server = self.rebuilt([{'port': PORT['id']}])
        [port] = self.ports_of(server)
        self.assertEqual(PORT['id'], port['id'])
        self.assertEqual('host1', port['binding:host_id'])
        self.assertEqual([PORT['fixed_ips'][0]['ip_address']],
                         self.addresses_of(server))

    def test_a_requested_network_gets_a_port(self):
        server = self.rebuilt([{'uuid': NETWORK['id']}])
        [port] = self.ports_of(server)
        self.assertEqual(NETWORK['id'], port['network_id'])
        self.assertEqual(1, len(self.addresses_of(server)))

    def test_no_networks_named_before_they_had_to_be_is_no_request(self):
        body = self._build_server(networks='none')
        del body['networks']
        with self.microversion_is('2.36'):
            server = self.api.post_server({'server': body})
        server = self._wait_for_state_change(server, 'ERROR')
        retained = databases.spec_of(server['id']).retained
        self.assertIsNotNone(retained)
        self.assertIsNone(retained.requested_networks)
        self._start_compute('host1')
        self.rebuild(server)
        self.assertEqual(1, len(self.addresses_of(self.active(server))))

    def test_they_are_kept_over_every_further_burial(self):
        server = self.bury(networks=[{'port': PORT['id']}])
        self.rebuild(server)
        self.buried_again(server)
        self._start_compute('host1')
        self.rebuild(server)
        self.assertEqual(
            [PORT['id']], [port['id'] for port in self.ports_of(
                self.active(server))])

    def test_they_are_forgotten_once_the_server_is_handed_over(self):
        server = self.rebuilt([{'port': PORT['id']}])
        spec = databases.spec_of(server['id'])
        self.assertIsNone(spec.retained)
        self.assertFalse(spec.obj_attr_is_set('requested_networks'))

    def test_a_port_that_somebody_else_took_is_409(self):
        server = self.bury(networks=[{'port': PORT['id']}])
        self._start_compute('host1')
        self._create_server(networks=[{'port': PORT['id']}])
        self.assertIn(
            'in use', self.assert_refused_without_trace(409, server))

    def test_a_port_that_is_gone_is_400(self):
        server = self.bury(networks=[{'port': PORT['id']}])
        self.neutron.delete_port(PORT['id'])
        self.assertIn('could not be found',
                      self.assert_refused_without_trace(400, server))

    def test_a_network_that_is_gone_is_400(self):
        server = self.bury(networks=[{'uuid': NETWORK['id']}])
        self.neutron._networks.clear()
        self.assertIn('could not be found',
                      self.assert_refused_without_trace(400, server))

    def test_an_address_that_somebody_has_taken_is_400(self):
        listed = self.neutron.list_ports

        def by_address(*args, fixed_ips=None, **kwargs):
            """Filter by addresses, too, as Neutron does."""
            return {'ports': [
                port for port in listed(*args, **kwargs)['ports']
                if not fixed_ips or fixed_ips in {
                    f'ip_address={fixed["ip_address"]}'
                    for fixed in port['fixed_ips']}]}
        self.neutron.list_ports = by_address
        address = PORT['fixed_ips'][0]['ip_address']
        taken = self.neutron._ports.pop(PORT['id'])
        server = self.bury(
            networks=[{'uuid': NETWORK['id'], 'fixed_ip': address}])
        self.neutron._ports[PORT['id']] = {**taken, 'device_id': 'another'}
        self.assertIn(f'{address} is already in use',
                      self.assert_refused_without_trace(400, server))


class MultiCreateTest(base.FunctionalTestCase):

    def test_every_server_of_a_multi_create_is_rebuilt_with_its_network(self):
        body = self._build_server(
            networks=[{'uuid': NETWORK['id']}], name='many')
        body.update(min_count=3, max_count=3)
        self.api.post_server({'server': body})
        servers = [self._wait_for_state_change(server, 'ERROR')
                   for server in self.api.get_servers()]
        self.assertEqual(3, len(servers))
        self._start_compute('host1')
        for server in servers:
            self.rebuild(server)
        rebuilt = [self.active(server) for server in servers]
        self.assertEqual(
            [1, 1, 1], [len(server['addresses']) for server in rebuilt])
        self.assertEqual(
            {'many-1', 'many-2', 'many-3'},
            {server['name'] for server in rebuilt})
