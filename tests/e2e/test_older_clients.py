# SPDX-License-Identifier: Apache-2.0

"""Clients that refuse a microversion that they do not know."""

from novaclient import client as nova_client
from novaclient import exceptions as nova_exceptions

from tests.e2e import base
from tests.e2e import clouds
from tools.cloud import contents
from tools.cloud import plan as plans

_OPENED = '2.93'


class OlderClientsTestCase(base.CloudTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cloud = clouds.shared()
        cls.addClassCleanup(cloud.up, api_microversion=None)
        cloud.up(api_microversion=_OPENED)

    def test_a_stock_microversion_lets_an_old_client_rebuild(self):
        client = plans.ROOT / '.state/older-client-venv/bin/openstack'
        server = self.bury()
        self.cloud.only_hosts_in('cell1')
        error = self.assertRaises(
            clouds.CommandFailed, self.cloud.run, '--os-compute-api-version',
            clouds.ADDED, 'server', 'rebuild', server, client=client)
        self.assertIn('versions supported by client', str(error))
        self.cloud.run('--os-compute-api-version', _OPENED, 'server',
                       'rebuild', '--wait', server, client=client)
        self.assertEqual('ACTIVE', self.server(server).status)

    def test_python_novaclient_rebuilds_as_it_is(self):
        self.assertRaises(
            nova_exceptions.UnsupportedVersion, nova_client.Client,
            clouds.ADDED, session=self.user.session)
        server = self.bury()
        self.cloud.only_hosts_in('cell1')
        nova_client.Client(_OPENED, session=self.user.session).servers.rebuild(
            server, self.image(contents.IMAGE))
        self.wait_for('ACTIVE', server)

    def test_a_client_that_is_told_nothing_rebuilds(self):
        server = self.bury()
        self.cloud.only_hosts_in('cell1')
        self.cloud.run('server', 'rebuild', '--wait', server)
        self.assertEqual('ACTIVE', self.server(server).status)
