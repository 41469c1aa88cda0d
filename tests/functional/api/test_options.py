# SPDX-License-Identifier: Apache-2.0

"""The options of [cell0_rebuild] that change what users see."""

from nova import context as nova_context
from nova import objects

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import databases


class StockMicroversionTest(base.FunctionalTestCase):

    options = {'api_microversion': '2.93'}

    def setUp(self):
        super().setUp()
        self.server = self.bury()
        self.image = self.server['image']['id']
        self._start_compute('host1')

    def test_from_it_on_a_buried_server_is_rebuilt(self):
        self.rebuild(self.server, '2.93', imageRef=self.image)
        self.active(self.server)

    def test_below_it_the_answer_is_that_of_stock_nova(self):
        self.assert_refused(409, self.server, '2.92', imageRef=self.image)


class VmStatesTest(base.FunctionalTestCase):

    # Notifications know Nova's own states only.
    options = {'vm_states': ['paused']}

    def test_a_server_in_a_state_that_is_not_named_is_not_buried(self):
        server = self.bury()
        self.assert_refused(409, server)

    def test_a_server_in_the_state_of_the_site_is_rebuilt(self):
        server = self.bury_in_that_state()
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)

    def test_buried_again_it_is_in_the_state_of_the_site_again(self):
        server = self.bury_in_that_state()
        self.rebuild(server)
        self._wait_for_assert(lambda: self.assertEqual(
            ('cell0', False), (
                databases.cell_of(server['id']), any(
                    row['hidden'] for row in databases.dump()['cell0'][
                        'instances']))))
        server = self.api.get_server(server['id'])
        self.assertEqual('paused', server['OS-EXT-STS:vm_state'])
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)

    def bury_in_that_state(self):
        """Bury a server as a Nova with a state of its own would."""
        server = self.bury()
        context = nova_context.get_admin_context()
        with nova_context.target_cell(context, cells.cell0(context)) as cctxt:
            instance = objects.Instance.get_by_uuid(cctxt, server['id'])
            instance.vm_state = 'paused'
            instance.save()
        return server
