# SPDX-License-Identifier: Apache-2.0

"""A server that asked to wait comes back by itself."""

from __future__ import annotations

from tempest import config
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators

from cell0_rebuild_tempest_plugin.tests import base

CONF = config.CONF

WAITS = {'cell0_rebuild_wait': '1h'}


class WaitingTest(base.BuriedServerTest):

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.cell0_rebuild.waiting or CONF.cell0_rebuild.who == 'off':
            raise cls.skipException('no service rebuilds servers that wait')

    def wait_until(self, server, condition, what):
        """Wait until something is true of a server that is shown."""
        self.assertTrue(test_utils.call_until_true(
            lambda: condition(self.show(server)),
            CONF.compute.build_timeout, CONF.compute.build_interval),
            f'server {server} {what}')

    def show(self, server):
        """Return a server with an ID."""
        return self.admin_servers.show_server(server)['server']

    def wait_for_room(self):
        """Create a server that waits; return it when it is told why."""
        server = self.request(metadata=WAITS)
        self.wait_until_told(server, 'capacity')
        self.assert_waits(server)
        return self.show(server)

    def wait_until_told(self, server, code):
        """Wait until the owner reads why the server waits."""
        def told(_):
            return [code] == [
                action['message'].partition(':')[0] for action in
                self.servers.list_instance_actions(
                    server)['instanceActions']
                if action['action'] == 'wait']
        self.wait_until(server, told, f'is not told {code}')

    def assert_waits(self, server):
        """Check that a server has the status of those that wait."""
        shown = self.show(server)
        self.assertEqual(
            (CONF.cell0_rebuild.show.upper(), None),
            (shown['status'], shown['OS-EXT-STS:task_state']))

    def assert_comes_back(self, server, host):
        """Check that a server becomes ACTIVE that nobody rebuilds."""
        self.wait_until(
            server['id'], lambda shown: shown['status'] == 'ACTIVE',
            'does not come back')
        self.assert_rebuilt(server, host)

    @decorators.idempotent_id('7a0c94e2-5d1f-4b83-a6e7-31f8c2d05b94')
    def test_it_comes_back_when_there_is_room(self):
        waiting = self.wait_for_room()

        host = self.capacity.come_back()

        self.assert_comes_back(waiting, host)

    @decorators.idempotent_id('c51e7f38-90b4-4d2a-8f16-e7b3a94d6c20')
    def test_its_owner_holds_it_with_a_lock(self):
        waiting = self.wait_for_room()
        self.servers.lock_server(waiting['id'])
        host = self.capacity.come_back()
        self.wait_until_told(waiting['id'], 'locked')
        self.assert_waits(waiting['id'])

        self.servers.unlock_server(waiting['id'])

        self.assert_comes_back(waiting, host)

    @decorators.idempotent_id('18d6b2a7-f43e-4c09-b5d8-6a2e90c7f351')
    def test_who_did_not_ask_stays_where_it_is(self):
        silent = self.bury()
        waiting = self.wait_for_room()

        host = self.capacity.come_back()

        self.assert_comes_back(waiting, host)
        self.assertEqual('ERROR', self.show(silent['id'])['status'])
