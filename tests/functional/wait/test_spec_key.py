# SPDX-License-Identifier: Apache-2.0

"""Servers are alike only if they ask Placement for the same."""

import ddt
from nova import context as nova_context
from nova.db.api import models as api_models
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import test_pci_sriov_servers as nova_tests

from cell0_rebuild.wait.demand import kinds
from cell0_rebuild.wait.demand import spec_key
from tests.functional import base
from tests.functional.support import asking
from tests.functional.support import databases
from tests import releases


def alike(*servers):
    """Return how many kinds of servers there are."""
    found = spec_key.find(nova_context.get_admin_context(), [
        server['id'] for server in servers])
    return len({found[server['id']] for server in servers})


def asked(server):
    """Return what a server asks Placement for."""
    context = nova_context.get_admin_context()
    return kinds.of(context, server['id']).shape.question.query


@ddt.ddt
class LikenessTestCase(base.FunctionalTestCase):

    def test_servers_of_one_kind_are_alike_whatever_their_names(self):
        server, other = self.bury(name='one'), self.bury(
            name='another', metadata={'a': 'b'}, hostname='host')
        self.assertEqual(1, alike(server, other))
        self.assertEqual(asked(server), asked(other))

    def test_what_is_kept_for_a_later_burial_does_not_count(self):
        server = self.bury()
        self.flags(rebuild='never_launched', group='cell0_rebuild')
        self.assertEqual(1, alike(server, self.bury()))

    def test_servers_that_ask_for_other_things_are_not_alike(self):
        usual = {'flavorRef': self._create_flavor(),
                 'imageRef': self.glance.image1['id']}
        servers = [
            self.bury(**{**usual, **other}) for other in (
                {}, {'flavorRef': self._create_flavor(vcpu=2)},
                {'flavorRef': self._create_flavor(
                    extra_spec={'resources:VCPU': '3'})},
                {'imageRef': self.glance.auto_disk_config_enabled_image['id']},
                {'networks': [{'port': self.neutron.port_1['id']}]},
                {'networks': 'auto'})]
        self.assertEqual(len(servers), alike(*servers))

    @ddt.data('', '{', 'null', '[]', '{"nova_object.data": 3}')
    def test_who_is_damaged_is_like_no_other(self, blob):
        servers = [self.bury() for _ in range(2)]
        databases.update('api', api_models.RequestSpec, servers[0]['id'],
                         spec=blob)
        self.assertEqual(2, alike(*servers))

    def test_who_is_gone_is_left_out(self):
        server = self.bury()
        self.assertEqual({}, spec_key.find(
            nova_context.get_admin_context(), ['gone']))
        self.assertEqual([server['id']], list(spec_key.find(
            nova_context.get_admin_context(), [server['id'], 'gone'])))


@releases.needs('pci_in_placement')
class LikenessOfDevicesTestCase(
        asking.AskingMixin, nova_tests._PCIServersTestBase):

    ADMIN_API = True
    CAST_AS_CALL = False
    PCI_DEVICE_SPEC = nova_tests.PCIServersTest.PCI_DEVICE_SPEC
    PCI_ALIAS = nova_tests.PCIServersTest.PCI_ALIAS

    def setUp(self):
        super().setUp()
        self.flags(group='pci', report_in_placement=True)
        self.flags(group='filter_scheduler', pci_in_placement=True)
        self.start_compute(
            pci_info=fakelibvirt.HostPCIDevicesInfo(num_pci=2))
        self.no_host_fits()
        flavor = self._create_flavor(
            extra_spec={'pci_passthrough:alias': 'a1:2'})
        self.servers = [self.bury(flavorRef=flavor) for _ in range(2)]

    def test_servers_with_devices_are_alike(self):
        self.assertEqual(1, alike(*self.servers))
        self.assertIn('CUSTOM_PCI', asked(self.servers[0]))
        self.assertEqual(*map(asked, self.servers))

    def test_a_rebuild_that_failed_changes_nothing_of_it(self):
        self.rebuild(self.servers[0])
        self.buried_again(self.servers[0])
        self.assertEqual(1, alike(*self.servers))
