# SPDX-License-Identifier: Apache-2.0

"""What a probe reads in the answers of a real Placement."""

from nova import context as nova_context

from cell0_rebuild.wait.demand import probes
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import asking


class ProbesTestCase(asking.AskingMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self._start_compute('host1')
        self._start_compute('host2')
        self.free = self.room(1).servers

    def room(self, cores):
        return probes.room(
            nova_context.get_admin_context(),
            f'resources=VCPU:{cores}&limit=50')

    def test_a_server_takes_its_part_of_what_fits(self):
        before = self.room(2).servers
        self.reserve_vcpus('host2', 10)
        room = self.room(2)
        self.assertEqual((1, before // 2), (room.hosts, room.servers))
        self._create_server(networks='none')
        self.assertEqual(self.free // 2 - 1, self.room(1).servers)

    def test_nothing_fits_where_no_host_has_room(self):
        self.assertEqual(values.Room(0), self.room(self.free + 1))
