# SPDX-License-Identifier: Apache-2.0

"""What is wrong with one server is in the way of no other."""

import fixtures
from neutronclient.common import exceptions as neutron_exc
from nova import context as nova_context

from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import why
from tests.functional import base
from tests.functional.wait import commands
from tests.functional.wait import sweeping


class GoneNetworkTestCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """Neutron no longer has the network of one of two servers."""

    def setUp(self):
        super().setUp()
        self.fill()
        network = self.neutron.network_1['id']
        self.bad = self.wait_for_room(networks=[{'uuid': network}])
        self.good = self.wait_for_room()
        self.make_room(5)
        show = self.neutron.show_network

        def gone(network_id, *args, **kwargs):
            if network_id == network:
                raise neutron_exc.NetworkNotFoundClient(message='It is gone.')
            return show(network_id, *args, **kwargs)
        self.useFixture(fixtures.MockPatchObject(
            self.neutron, 'show_network', gone))

    def test_another_server_is_rebuilt(self):
        swept = self.sweeper.sweep()
        self.assertEqual([self.good['id']], self.asked())
        self.assertEqual({self.bad['id']: 'blocked'}, self.codes(swept))
        self.assertIn('is gone', self.told(self.bad)[0])
        self.active(self.good)

    def test_wait_list_says_so(self):
        code, text = commands.run('list')
        self.assertEqual(0, code, text)
        self.assertIn('blocked', text)
        self.assertIn(self.good['id'], text)

    def test_why_says_so(self):
        found = why.explain(nova_context.get_admin_context(), self.bad['id'])
        self.assertEqual(reasons.Code.BLOCKED, found.reason.code)
        self.assertIn('is gone', str(found.reason))
