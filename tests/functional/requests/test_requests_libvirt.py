# SPDX-License-Identifier: Apache-2.0

"""NUMA topology, pinned CPUs and vTPM, with Nova's libvirt driver."""

import fixtures
from nova import context as nova_context
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.api import client as api_client
from nova.tests.functional.libvirt import base as libvirt_base
from nova.tests.functional.libvirt import test_vtpm as nova_tests
from oslo_utils.fixture import uuidsentinel

from tests.functional.support import asking
from tests.functional import base
from tests.functional.support import databases
from tests import releases


class _LibvirtTestCase(asking.AskingMixin, libvirt_base.ServersTestBase):

    ADMIN_API = True
    CAST_AS_CALL = False

    def body(self, **extra_specs):
        flavor = self._create_flavor(vcpu=2, extra_spec={
            name.replace('__', ':'): value
            for name, value in extra_specs.items()})
        return {'flavorRef': flavor}


class NumaTest(_LibvirtTestCase):

    ADDITIONAL_FILTERS = ['NUMATopologyFilter']

    def start(self, **options):
        for name, value in options.items():
            self.flags(group='compute', **{name: value})
        self.start_compute(host_info=fakelibvirt.HostInfo(
            cpu_nodes=2, cpu_sockets=1, cpu_cores=2, cpu_threads=2))

    def buried(self, body):
        self.no_host_fits()
        server = self.bury(**body)
        self.hosts_fit()
        return server

    def image(self, **properties):
        return self.glance.create({}, {
            'name': 'with properties', 'disk_format': 'raw', 'size': 1,
            'status': 'active', 'container_format': 'bare', 'min_ram': 0,
            'visibility': 'public', 'min_disk': 0,
            'properties': properties})['id']

    def test_a_numa_topology_is_fitted_to_the_host(self):
        self.start()
        server, _ = self.made_anew(burials=2, **self.body(hw__numa_nodes='2'))
        topology = asking.instance_of(server).numa_topology
        self.assertEqual([0, 1], [cell.id for cell in topology.cells])

    def test_pinned_cpus_are_allocated_and_pinned(self):
        self.start(cpu_dedicated_set='0-7')
        server, asked = self.made_anew(
            **self.body(hw__cpu_policy='dedicated'))
        self.assertEqual(2, asking.resources(asked)['PCPU'])
        [cell] = asking.instance_of(server).numa_topology.cells
        self.assertEqual(2, len(cell.cpu_pinning))

    def test_mixed_cpus_are_allocated(self):
        self.start(cpu_dedicated_set='0,1,4,5', cpu_shared_set='2,3,6,7')
        _, asked = self.made_anew(**self.body(
            hw__cpu_policy='mixed', hw__cpu_dedicated_mask='^0'))
        found = asking.resources(asked)
        self.assertEqual((1, 1), (found['PCPU'], found['VCPU']))

    def test_computes_that_are_too_old_for_mixed_are_409_as_for_a_create(self):
        self.start(cpu_dedicated_set='0,1,4,5', cpu_shared_set='2,3,6,7')
        body = self.body(
            hw__cpu_policy='mixed', hw__cpu_dedicated_mask='^0')
        self.assert_refused_as_a_create(
            409, self.buried(body), body, computes=51)

    def test_another_image_may_bring_another_topology(self):
        self.start()
        server = self.buried(self.body())
        self.rebuild(server, imageRef=self.image(hw_numa_nodes='2'))
        server = self.active(server)
        topology = asking.instance_of(server).numa_topology
        self.assertEqual([0, 1], [cell.id for cell in topology.cells])

    def test_the_same_image_counts_as_it_is_now(self):
        self.start()
        image = self.image()
        server = self.buried({**self.body(), 'imageRef': image})
        self.glance.images[image]['properties']['hw_numa_nodes'] = '2'
        self.rebuild(server)
        self.assertEqual(2, len(asking.instance_of(
            self.active(server)).numa_topology.cells))

    def test_the_flavor_counts_as_it_was_at_create(self):
        self.start()
        body = self.body()
        server = self.buried(body)
        self.admin_api.post_extra_spec(
            body['flavorRef'], {'extra_specs': {'hw:numa_nodes': '2'}})
        self.rebuild(server)
        self.assertIsNone(
            asking.instance_of(self.active(server)).numa_topology)


class VtpmTest(_LibvirtTestCase):

    def setUp(self):
        self.flags(group='libvirt', swtpm_enabled=True)
        if releases.has('secret_security'):
            self.flags(group='libvirt', supported_tpm_secret_security=[
                'user', 'deployment'])
        self.flags(group='key_manager', backend=(
            f'{nova_tests.__name__}.FakeKeyManager'))
        super().setUp()
        # It looks at the users and programs of the host.
        self.useFixture(fixtures.MockPatch(
            'nova.virt.libvirt.driver.LibvirtDriver._check_vtpm_support'))
        # Older releases do not ask libvirt for it.
        connection = fakelibvirt.virConnect
        if hasattr(connection, '_domain_capability_tpm'):
            self.useFixture(fixtures.MonkeyPatch(
                f'{connection.__module__}.virConnect._domain_capability_tpm',
                connection._domain_capability_tpm_supported))
        # It needs Keystone.
        self.useFixture(fixtures.MonkeyPatch(
            'nova.context.get_nova_service_user_context',
            lambda: nova_context.RequestContext(user_id='nova')))
        self.start_compute()

    def operator(self):
        """Return the client of an administrator from another project."""
        api = api_client.TestOpenStackClient(
            'admin', self.api.base_url,
            project_id=uuidsentinel.operators, roles=['admin'])
        api.microversion = base.STOCK
        return api

    def test_a_vtpm_is_made(self):
        server, asked = self.made_anew(**self.body(
            hw__tpm_model='tpm-tis', hw__tpm_version='1.2'))
        self.assertIn('COMPUTE_SECURITY_TPM_1_2', str(asked))
        self.assertIn('vtpm_secret_uuid',
                      asking.instance_of(server).system_metadata)

    def test_the_secret_of_a_vtpm_is_not_made_in_another_project(self):
        self.no_host_fits()
        server = self.bury(**self.body(hw__tpm_version='1.2'))
        self.hosts_fit()
        self.api = self.operator()
        before = databases.dump()
        self.assertIn('vTPM', self.assert_refused(409, server))
        self.assertEqual(
            [], databases.differences(before, databases.dump()))

    @releases.needs('secret_security')
    def test_the_secret_of_a_vtpm_may_be_that_of_the_deployment(self):
        self.no_host_fits()
        server = self.bury(**self.body(
            hw__tpm_version='1.2', hw__tpm_secret_security='deployment'))
        self.hosts_fit()
        self.api = self.operator()
        self.rebuild(server)
        self.active(server)
