# SPDX-License-Identifier: Apache-2.0

"""What a server was created with, and lost while it was buried."""

from neutronclient.common import exceptions as neutron_exc
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client as api_client
from oslo_utils.fixture import uuidsentinel

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests import releases

HOST = 'OS-EXT-SRV-ATTR:host'
NEUTRON = nova_fixtures.NeutronFixture
PORT = {'port': NEUTRON.port_1['id']}
NETWORK = {'uuid': NEUTRON.network_1['id']}
WEB = uuidsentinel.web


class SurroundingsTestCase(base.FunctionalTestCase):

    def bury_and_start(self, **body):
        """Bury a server, remember its body, and start computes."""
        self.body = body
        server = self.bury(**body)
        self._start_compute('host1')
        return server

    def assert_refused_as_a_create(self, code, server, reason):
        """Check that a create is refused, too, and what the rebuild says."""
        body = {**self._build_server(networks='none'), **self.body}
        error = self.assertRaises(
            api_client.OpenStackApiException, self.api.post_server,
            {'server': body})
        self.assertEqual(code, error.response.status_code, str(error))
        self.assertIn(
            reason, self.assert_refused_without_trace(code, server))

    def be_an_operator(self):
        """Ask as somebody of another project, who may ask for anything."""
        self.api = api_client.TestOpenStackClient(
            'admin', self.api.base_url, project_id=uuidsentinel.operators,
            roles=['admin'])
        self.api.microversion = base.STOCK


class SecurityGroupTest(SurroundingsTestCase):

    def setUp(self):
        super().setUp()
        self.groups = self.neutron._security_groups
        self.groups[WEB] = {
            **NEUTRON.security_group, 'id': WEB, 'name': 'web'}
        self.neutron.find_resource = self._find
        self.asked = []
        listed = self.neutron.list_security_groups

        def recorded(*args, **kwargs):
            if 'tenant_id' in kwargs:
                self.asked.append(kwargs['tenant_id'])
            return listed(*args, **kwargs)
        self.neutron.list_security_groups = recorded

    def _find(self, resource, name, *args, **kwargs):
        for group in self.groups.values():
            if name in (group['name'], group['id']):
                return group
        raise neutron_exc.NotFound(message=f'Unable to find {name}')

    def bury_in(self, *groups, networks=(NETWORK,)):
        return self.bury_and_start(
            networks=list(networks) if networks else 'none',
            security_groups=[{'name': name} for name in groups])

    def test_one_that_is_gone_is_400_as_for_a_create(self):
        server = self.bury_in('web')
        del self.groups[WEB]
        self.assert_refused_as_a_create(400, server, WEB)

    def test_one_that_is_gone_is_400_also_for_a_port_that_was_given(self):
        server = self.bury_in('default', 'web', networks=[PORT])
        del self.groups[WEB]
        self.assert_refused_as_a_create(400, server, WEB)

    def test_one_that_is_gone_does_not_matter_without_a_network(self):
        server = self.bury_in('web', networks=None)
        del self.groups[WEB]
        self.rebuild(server)
        self.active(server)

    def test_one_that_became_another_projects_is_400_for_an_operator(self):
        server = self.bury_in('web')
        self.groups[WEB]['tenant_id'] = uuidsentinel.operators
        self.be_an_operator()
        self.assertIn(WEB, self.assert_refused_without_trace(400, server))

    def test_an_operator_builds_with_those_of_the_owner(self):
        server = self.bury_in('web')
        self.be_an_operator()
        create_port, made = self.neutron.create_port, []

        def recorded(body):
            made.append(body['port']['security_groups'])
            return create_port(body)
        self.neutron.create_port = recorded
        self.rebuild(server)
        self.active(server)
        # By nova-api and by the compute.
        self.assertEqual([server['tenant_id']] * 2, self.asked)
        self.assertEqual([[WEB]], made)

    def test_nobody_asks_for_the_default_one(self):
        server = self.bury_in()
        self.rebuild(server)
        self.active(server)
        self.assertEqual([], self.asked)


class ZoneTest(SurroundingsTestCase):

    def setUp(self):
        super().setUp()
        for host in ('host1', 'host2'):
            self._start_compute(host)
        self.aggregate = self._create_aggregate('zone', 'zone')
        self.api.add_host_to_aggregate(self.aggregate, 'host1')

    def bury_in(self, zone):
        """Bury a server while the one host of the zone is full."""
        self.body = {'availability_zone': zone}
        self.reserve_vcpus('host1', 10)
        server = self.bury(**self.body)
        self.reserve_vcpus('host1', 0)
        return server

    def disable(self):
        self.api.put_service(
            self.computes['host1'].service_ref.uuid, {'status': 'disabled'})

    def test_one_with_no_host_that_is_up_is_400_as_for_a_create(self):
        server = self.bury_in('zone')
        self.disable()
        self.assert_refused_as_a_create(400, server, 'is not available')

    def test_one_that_is_gone_is_400_as_for_a_create(self):
        server = self.bury_in('zone')
        self.api.remove_host_from_aggregate(self.aggregate, 'host1')
        self.assert_refused_as_a_create(
            400, server, 'Availability zone zone of server')

    def test_who_forces_a_host_is_not_asked_for_its_zone(self):
        server = self.bury_in('zone:host1')
        self.disable()
        self.rebuild(server)
        self.buried_again(server)


class DestinationTest(SurroundingsTestCase):

    def assert_refused_without(self, **body):
        """Check what becomes of a server whose host is deleted."""
        self._start_compute('host1')
        self.body = body
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})
        server = self.bury(**body)
        self.computes['host1'].stop()
        self.api.api_delete(f'/os-services/{service}')
        self.assert_refused_as_a_create(400, server, 'host1')

    def test_a_host_that_is_gone_is_400_as_for_a_create(self):
        self.assert_refused_without(host='host1')

    def test_a_node_that_is_gone_is_400_as_for_a_create(self):
        self.assert_refused_without(hypervisor_hostname='host1')

    def test_a_host_and_its_node_that_are_gone_are_400_as_for_a_create(self):
        self.assert_refused_without(
            host='host1', hypervisor_hostname='host1')


class ImageTest(SurroundingsTestCase):

    def setUp(self):
        super().setUp()
        self.image = uuidsentinel.image

    def bury_from(self, flavor=None, **properties):
        """Bury a server with an image that has such properties."""
        self.add_image(self.image, **properties)
        return self.bury_and_start(imageRef=self.image, **(
            {'flavorRef': self._create_flavor(extra_spec=flavor)}
            if flavor else {}))

    def add_image(self, image_id, **properties):
        """Add an image to those that there are."""
        self.glance.create(None, {
            **self.glance.image1, 'id': image_id, 'properties': properties})

    def test_a_kernel_that_is_gone_is_400_as_for_a_create(self):
        self.add_image(uuidsentinel.kernel)
        server = self.bury_from(kernel_id=uuidsentinel.kernel)
        self.glance.delete(None, uuidsentinel.kernel)
        self.assert_refused_as_a_create(400, server, uuidsentinel.kernel)

    def test_a_ramdisk_that_is_gone_is_400_as_for_a_create(self):
        self.add_image(uuidsentinel.kernel)
        self.add_image(uuidsentinel.ramdisk)
        server = self.bury_from(kernel_id=uuidsentinel.kernel,
                                ramdisk_id=uuidsentinel.ramdisk)
        self.glance.delete(None, uuidsentinel.ramdisk)
        self.assert_refused_as_a_create(400, server, uuidsentinel.ramdisk)

    def test_encryption_that_it_forbids_by_now_is_400_as_for_a_create(self):
        server = self.bury_from(flavor={'hw:ephemeral_encryption': 'true'})
        self.glance.images[self.image]['properties'] = {
            'hw_ephemeral_encryption': 'false'}
        self.assert_refused_as_a_create(
            400, server, 'hw:ephemeral_encryption')


    def test_a_flavor_without_a_disk_is_403_as_for_a_create(self):
        server = self.bury_and_start(flavorRef=self._create_flavor(disk=0))
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.assert_refused_as_a_create(
            403, server, 'Only volume-backed servers')


class VolumeZoneTest(SurroundingsTestCase):

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))

        aggregate = self._create_aggregate('zone', 'zone')
        self._start_compute('host1')
        self._start_compute('host2')
        self.api.add_host_to_aggregate(aggregate, 'host1')

    def bury_with_volume_in(self, zone, **body):
        """Bury it where volumes may be anywhere, and change that."""
        self.body = {**body, 'imageRef': '', 'block_device_mapping_v2': [
            {'boot_index': 0, 'uuid': cinder.ROOT, 'source_type': 'volume',
             'destination_type': 'volume'}]}
        for host in ('host1', 'host2'):
            self.reserve_vcpus(host, 10)
        server = self.bury(**self.body)
        for host in ('host1', 'host2'):
            self.reserve_vcpus(host, 0)
        self.flags(cross_az_attach=False, group='cinder')
        self.cinder.fixed[cinder.ROOT] = {'availability_zone': zone}
        return server

    def test_a_volume_in_another_zone_is_400_as_for_a_create(self):
        server = self.bury_with_volume_in(
            'elsewhere', availability_zone='zone')
        self.assert_refused_as_a_create(400, server, 'elsewhere')

    def test_a_server_of_any_zone_goes_to_that_of_its_volume(self):
        server = self.bury_with_volume_in('zone')
        self.rebuild(server)
        self.assertEqual('host1', self.active(server)[HOST])
        self.assertEqual(
            'zone', databases.spec_of(server['id']).availability_zone)


class GroupTest(SurroundingsTestCase):

    def test_a_server_group_that_is_gone_is_no_more_asked_for(self):
        if not releases.has('valid_group_hint'):
            self.flags(response_validation='warn', group='api')
        group = self.api.post_server_groups(
            {'name': 'group', 'policy': 'anti-affinity'})
        server = self.api.api_post('/servers', {
            'server': self._build_server(networks='none'),
            'os:scheduler_hints': {'group': group['id']}}).body['server']
        server = self._wait_for_state_change(server, 'ERROR')
        self.api.delete_server_group(group['id'])
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
