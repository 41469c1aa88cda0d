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
        if not CONF.cell0_rebuild.waiting:
            raise cls.skipException('no service rebuilds servers that wait')

    def wait_until(self, server, condition, what):
        """Wait until something is true of a server that is shown."""
        self.assertTrue(test_utils.call_until_true(
            lambda: condition(self.admin_servers.show_server(
                server['id'])['server']),
            CONF.compute.build_timeout, CONF.compute.build_interval),
            f'server {server["id"]} {what}')

    def wait_until_told(self, server, code):
        """Wait until the owner reads why the server waits."""
        def told(_):
            return [code] == [
                action['message'].partition(':')[0] for action in
                self.servers.list_instance_actions(
                    server['id'])['instanceActions']
                if action['action'] == 'wait']
        self.wait_until(server, told, f'is not told {code}')

    def assert_comes_back(self, server, host):
        """Check that a server becomes ACTIVE that nobody rebuilds."""
        self.wait_until(server, lambda shown: shown['status'] == 'ACTIVE',
                        'does not come back')
        self.assert_rebuilt(server, host)

    @decorators.idempotent_id('7a0c94e2-5d1f-4b83-a6e7-31f8c2d05b94')
    def test_it_comes_back_when_there_is_room(self):
        buried = self.bury(metadata=WAITS)
        self.wait_until_told(buried, 'capacity')

        host = self.capacity.come_back()

        self.assert_comes_back(buried, host)

    @decorators.idempotent_id('c51e7f38-90b4-4d2a-8f16-e7b3a94d6c20')
    def test_its_owner_holds_it_with_a_lock(self):
        buried = self.bury(metadata=WAITS)
        self.servers.lock_server(buried['id'])
        host = self.capacity.come_back()
        self.wait_until_told(buried, 'locked')
        self.assertEqual('ERROR', self.admin_servers.show_server(
            buried['id'])['server']['status'])

        self.servers.unlock_server(buried['id'])

        self.assert_comes_back(buried, host)

    @decorators.idempotent_id('18d6b2a7-f43e-4c09-b5d8-6a2e90c7f351')
    def test_who_did_not_ask_stays_where_it_is(self):
        silent = self.bury()
        asked = self.bury(metadata=WAITS)

        host = self.capacity.come_back()

        self.assert_comes_back(asked, host)
        self.assertEqual('ERROR', self.admin_servers.show_server(
            silent['id'])['server']['status'])
