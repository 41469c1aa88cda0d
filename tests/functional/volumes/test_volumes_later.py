# SPDX-License-Identifier: Apache-2.0

"""Volumes and ports of a rebuilt server, when a build or its host fails."""

import fixtures
from nova import exception
from nova.virt import fake

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.volumes import volumes_base

ROOT = {**volumes_base.VOLUME, 'uuid': 'volume', 'boot_index': 0}
HOST = 'OS-EXT-SRV-ATTR:host'


class VolumeTest(volumes_base.VolumesTestCase):

    # Nova's bug 1899649.
    def test_deleted_after_another_burial_it_leaves_no_attachment(self):
        server = self.bury_with(ROOT)
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual(1, len(self.cinder.attachments(cinder.ROOT)))
        self._delete_server(server)
        self.assertEqual([], self.cinder.attachments(cinder.ROOT))

    # 1675570 and 1679750.
    def test_deleted_while_its_host_is_down_it_leaves_nothing(self):
        server = self.bury_with(ROOT)
        compute = self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        compute.stop()
        self.api.put_service_force_down(compute.service_ref.uuid, True)
        self._delete_server(server)
        self.assertEqual([], self.cinder.attachments(cinder.ROOT))
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id']))


class RescheduledVolumeTest(volumes_base.VolumesTestCase):

    compute_driver = 'fake.FakeRescheduleDriver'

    # Nova's bug 1784353.
    def test_on_the_second_host_its_volume_is_attached_once(self):
        self.addCleanup(fake.FakeRescheduleDriver.rescheduled.clear)
        server = self.bury_with(ROOT)
        for host in ('host1', 'host2'):
            self._start_compute(host)
        self.rebuild(server)
        self.active(server)
        self.assertTrue(fake.FakeRescheduleDriver.rescheduled[server['id']])
        [bdm] = [row for row in self.bdms('cell1', server)
                 if row['volume_id'] and not row['deleted']]
        self.assertEqual([bdm['attachment_id']],
                         self.cinder.attachments(cinder.ROOT))


class PortTest(base.FunctionalTestCase):

    # Nova's bug 2134375.
    def test_a_failed_build_leaves_as_many_ports_as_that_of_a_create(self):
        self.flags(max_attempts=1, group='scheduler')
        networks = [{'uuid': network['id']} for network in (
            self.neutron.network_1, self.neutron.network_2)]
        for network, subnet in (
                (self.neutron.network_1, self.neutron.subnet_1),
                (self.neutron.network_2, self.neutron.subnet_2)):
            self.neutron._networks[network['id']] = network
            self.neutron._subnets[subnet['id']] = subnet
        server = self.bury(networks=networks)
        self._start_compute('host1')

        def fail(*args, **kwargs):
            raise exception.PortNotFound(port_id='one')
        self.useFixture(fixtures.MonkeyPatch(
            'nova.network.neutron.API._update_port', fail))
        before = len(self.neutron._ports)
        self.rebuild(server)
        # It has failed when it has reached its cell.
        self._wait_for_assert(lambda: self.assertEqual(
            'cell1', databases.cell_of(server['id'])))
        self._wait_for_state_change(server, 'ERROR')
        of_the_rebuild = len(self.neutron._ports) - before
        self._create_server(networks=networks, expected_state='ERROR')
        self.assertEqual(
            before + 2 * of_the_rebuild, len(self.neutron._ports))
