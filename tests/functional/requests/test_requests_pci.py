# SPDX-License-Identifier: Apache-2.0

"""PCI devices: SR-IOV ports and aliases in the flavor, with libvirt."""

from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base as libvirt_base
from nova.tests.functional.libvirt import test_pci_sriov_servers as nova_tests
from oslo_serialization import jsonutils

from tests.functional.support import asking
from tests import releases


class _PciTestCase(asking.AskingMixin, nova_tests._PCIServersTestBase):

    ADMIN_API = True
    CAST_AS_CALL = False
    PCI_DEVICE_SPEC = nova_tests.SRIOVServersTest.PCI_DEVICE_SPEC
    PCI_ALIAS = nova_tests.SRIOVServersTest.PCI_ALIAS

    def body(self, alias=None, port=None):
        body = {'flavorRef': self._create_flavor(extra_spec={
            'pci_passthrough:alias': alias} if alias else {})}
        if port:
            body['networks'] = [{'port': port}]
        return body

    def buried(self, body):
        self.no_host_fits()
        server = self.bury(**body)
        self.hosts_fit()
        return server

    def change_alias(self, **changes):
        """Change the first alias in the configuration."""
        alias = jsonutils.loads(self.PCI_ALIAS[0])
        self.flags(group='pci', alias=[jsonutils.dumps({**alias, **changes})])


class SriovTest(_PciTestCase):

    def setUp(self):
        super().setUp()
        self.neutron = self.useFixture(
            libvirt_base.LibvirtNeutronFixture(self))
        self.start_compute(pci_info=fakelibvirt.HostPCIDevicesInfo(
            num_pfs=1, num_vfs=4))
        self.port = self.neutron.create_port(
            {'port': self.neutron.network_4_port_1})['port']['id']

    def test_an_sriov_port_gets_a_virtual_function(self):
        server, _ = self.made_anew(**self.body(port=self.port))
        [request] = asking.instance_of(server).pci_requests.requests
        self.assertEqual(self.port, request.requester_id)
        self.assertIn('pci_slot', self.got(server)['bindings'][self.port])
        self.assertPCIDeviceCounts('compute1', total=5, free=3)

    def test_requests_of_port_and_alias_do_not_pile_up(self):
        server, _ = self.made_anew(
            burials=3, **self.body(alias='vfs:1', port=self.port))
        requests = asking.instance_of(server).pci_requests.requests
        self.assertEqual([None, self.port], [
            request.requester_id for request in requests])
        self.assertPCIDeviceCounts('compute1', total=5, free=2)

    def test_a_port_that_has_become_an_ordinary_one_needs_no_device(self):
        server = self.buried(self.body(port=self.port))
        self.neutron._ports[self.port].update({
            'binding:vnic_type': 'normal', 'binding:vif_type': 'ovs'})
        self.rebuild(server)
        server = self.active(server)
        self.assertEqual(
            [], asking.instance_of(server).pci_requests.requests)
        self.assertPCIDeviceCounts('compute1', total=5, free=5)

    def test_computes_that_are_too_old_for_it_are_400_as_for_a_create(self):
        body = self.body(port=self.port)
        server = self.buried(body)
        self.neutron._ports[self.port]['binding:vnic_type'] = 'remote-managed'
        self.assert_refused_as_a_create(400, server, body, computes=60)


@releases.needs('pci_in_placement')
class PciInPlacementTest(_PciTestCase):

    PCI_DEVICE_SPEC = nova_tests.PCIServersTest.PCI_DEVICE_SPEC
    PCI_ALIAS = nova_tests.PCIServersTest.PCI_ALIAS

    def setUp(self):
        super().setUp()
        self.flags(group='pci', report_in_placement=True)
        self.flags(group='filter_scheduler', pci_in_placement=True)
        self.start_compute(
            pci_info=fakelibvirt.HostPCIDevicesInfo(num_pci=2))

    def test_each_device_is_asked_for_in_a_group_of_its_own(self):
        _, asked = self.made_anew(burials=3, **self.body(alias='a1:2'))
        self.assertEqual(['', 'PCI-0', 'PCI-1'], asking.suffixes(asked))
        self.assertEqual(2, asking.resources(asked)[self.PCI_RC])
        self.assertPCIDeviceCounts('compute1', total=2, free=0)
        self.assert_no_pci_healing('compute1')

    def test_an_alias_that_is_gone_is_400_as_for_a_create(self):
        body = self.body(alias='a1:1')
        server = self.buried(body)
        self.change_alias(name='another')
        self.assert_refused_as_a_create(400, server, body)

    def test_what_the_alias_means_now_is_asked_for(self):
        server = self.buried(self.body(alias='a1:1'))
        self.recorded.taken()
        self.change_alias(product_id='abcd')
        self.rebuild(server)
        self.buried_again(server)
        asked = asking.resources(self.recorded.taken()[0])
        self.assertEqual(1, asked[
            f'CUSTOM_PCI_{fakelibvirt.PCI_VEND_ID}_ABCD'])
        self.assertNotIn(self.PCI_RC, asked)
