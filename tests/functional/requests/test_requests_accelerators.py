# SPDX-License-Identifier: Apache-2.0

"""Accelerators of Cyborg, asked for by the flavor or by a port."""

import copy

from nova.accelerator import cyborg
from nova import exception
from nova.tests.functional import test_servers as nova_tests
import oslo_messaging as messaging

from tests.functional.support import asking
from tests.functional import base


class _AcceleratorTestCase(
        asking.AskingMixin, nova_tests.AcceleratorServerBase):

    def profile_is_gone(self):
        self.cyborg.mock_get_dp.side_effect = lambda name: []


class FlavorAcceleratorTest(_AcceleratorTestCase):

    def setUp(self):
        super().setUp()
        self.body = {'flavorRef': self._create_acc_flavor()}

    def buried(self):
        self.no_host_fits()
        server = self.bury(**self.body)
        self.hosts_fit()
        return server

    def test_a_flavor_with_a_device_profile_gets_its_accelerator(self):
        server, asked = self.made_anew(burials=2, **self.body)
        self.assertEqual(['', 'device_profile_0'], asking.suffixes(asked))
        self.assertEqual(1, asking.resources(asked)['FPGA'])
        self._check_allocations_usage(server)

    def test_what_the_profile_asks_for_now_is_asked_for(self):
        server = self.buried()
        self.recorded.taken()
        self.cyborg.mock_get_dp.side_effect = lambda name: [
            {'groups': [{'resources:FPGA': 2}]}]
        self.rebuild(server)
        self.active(server)
        asked = self.recorded.taken()[0]
        self.assertEqual(2, asking.resources(asked)['FPGA'])

    def test_a_profile_that_is_gone_is_400_as_for_a_create(self):
        server = self.buried()
        self.profile_is_gone()
        self.assert_refused_as_a_create(400, server, self.body)

    def test_an_accelerator_that_cannot_be_bound_leaves_it_buried(self):
        server = self.buried()
        [arq] = self.cyborg.fake_create_arqs(self.cyborg.dp_name)
        self.cyborg.call_create_arq_count -= 1
        self.cyborg.mock_bind_arqs.side_effect = (
            exception.AcceleratorRequestBindingFailed(
                arqs=[arq['uuid']], msg='no'))
        self.rebuild(server)
        self.buried_again(server)
        self.cyborg.mock_fake_delete_arqs_by_uuid.assert_called_once_with(
            [arq['uuid']])
        self._wait_for_assert(
            lambda: self._check_no_allocs_usage(server['id']))
        self.cyborg.mock_bind_arqs.side_effect = self.cyborg.fake_bind_arqs
        self.rebuild(server)
        self._check_allocations_usage(self.active(server))

    def test_the_accelerator_is_released_if_no_compute_can_be_reached(self):
        server = self.buried()
        self.useFixture(base.Interception(
            base.CAST,
            before=_unreachable))
        self.rebuild(server)
        self.buried_again(server)
        # It is shown in cell0 before all that it had is released.
        self._wait_for_assert(
            lambda: self._check_no_allocs_usage(server['id']))
        self._wait_for_assert(lambda: self.assertEqual(
            [], self.cyborg.fake_get_arqs_for_instance(server['id'])))


def _unreachable(*args, **kwargs):
    raise messaging.MessageDeliveryFailure()


class PortAcceleratorTest(_AcceleratorTestCase):

    def setUp(self):
        super().setUp()
        for port in self.neutron.ports_with_accelerator:
            self.neutron._ports[port['id']] = copy.deepcopy(port)
        self.ports = [
            port['id'] for port in self.neutron.ports_with_accelerator]
        flavor = self._create_flavor(name='tiny')
        self.body = {'flavorRef': flavor, 'networks': [
            {'port': port} for port in self.ports]}

    def buried(self):
        self.no_host_fits()
        server = self.bury(**self.body)
        self.hosts_fit()
        return server

    def test_ports_with_device_profiles_get_their_accelerators(self):
        self.no_host_fits()
        server = self.bury(**self.body)
        self.rebuild(server)
        self.buried_again(server)
        self.hosts_fit()
        self.rebuild(server)
        self._check_allocations_usage(self.active(server), dev_alloced=2)
        first, again, last = self.recorded.taken()
        self.assertEqual(
            ['', *sorted(f'device_profile_0{port}' for port in self.ports)],
            asking.suffixes(first))
        self.assertEqual([first, first], [again, last])
        arqs = {cyborg.get_arq_pci_device_profile(arq)['pci_slot']
                for arq in self.cyborg.fake_get_arqs_for_instance(
                    server['id'])}
        bindings = self.got(server)['bindings']
        self.assertEqual(
            arqs, {bindings[port]['pci_slot'] for port in self.ports})

    def test_the_accelerators_are_released_if_no_compute_can_be_reached(self):
        server = self.buried()
        self.useFixture(base.Interception(
            base.CAST,
            before=_unreachable))
        self.rebuild(server)
        self.buried_again(server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], self.cyborg.fake_get_arqs_for_instance(server['id'])))

    def test_a_profile_that_is_gone_is_400_as_for_a_create(self):
        server = self.buried()
        self.profile_is_gone()
        self.assert_refused_as_a_create(400, server, self.body)

    def test_computes_that_are_too_old_for_it_are_400_as_for_a_create(self):
        self.assert_refused_as_a_create(
            400, self.buried(), self.body, computes=56)

    def test_a_port_that_has_become_an_ordinary_one_needs_none(self):
        server = self.buried()
        for port in self.ports:
            self.neutron._ports[port].update({
                'binding:vnic_type': 'normal', 'binding:vif_type': 'ovs',
                'device_profile': None})
        self.rebuild(server)
        self.active(server)
        self.assertEqual(
            [], self.cyborg.fake_get_arqs_for_instance(server['id']))
