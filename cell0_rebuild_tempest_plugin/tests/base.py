# SPDX-License-Identifier: Apache-2.0

"""What the tests of servers that are buried in cell0 have in common."""

from __future__ import annotations

import typing as ty

import fixtures
from tempest import config
from tempest import test
from tempest.lib.common import api_microversion_fixture
from tempest.lib.common import fixed_network
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions
from tempest.lib.services.compute import base_compute_client

from cell0_rebuild_tempest_plugin import capacity

CONF = config.CONF

# The first that has requests and answers about traits of a provider.
PLACEMENT_MICROVERSION = '1.6'


class BuriedServerTest(test.BaseTestCase):
    """Has a flavor for which there is no capacity until a test says so."""

    credentials: ty.ClassVar[list[ty.Any]] = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        for service in ('cell0_rebuild', 'nova', 'glance', 'neutron'):
            if not CONF.service_available[service]:
                raise cls.skipException(
                    f'[service_available] {service} is not true')

    @classmethod
    def setup_credentials(cls):
        cls.set_network_resources(network=True, subnet=True)
        super().setup_credentials()

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.servers = cls.os_primary.servers_client
        cls.admin_servers = cls.os_admin.servers_client

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.microversion = next(
            version['version'] for version in
            cls.os_primary.compute_versions_client.list_versions()['versions']
            if version['id'] == 'v2.1')
        # The first that rebuilds a buried server.
        cls.first = CONF.cell0_rebuild.microversion or cls.microversion

    def setUp(self):
        super().setUp()
        self.useFixture(api_microversion_fixture.APIMicroversionFixture(
            compute_microversion=self.microversion,
            placement_microversion=PLACEMENT_MICROVERSION))
        self.capacity = capacity.Capacity(self.os_admin, self.addCleanup)
        # Nobody else is to rebuild the servers of a test. If the site does
        # not, the flavor says that they wait only if their owner asks.
        self.flavor = self.capacity.make_flavor(
            CONF.compute.flavor_ref,
            {'cell0_rebuild:wait': 'no'}
            if CONF.cell0_rebuild.who == 'all' else {})

    def asking(self, microversion):
        """Ask Nova for another microversion inside ``with``."""
        # The fixture of Tempest would have no microversion afterwards.
        return fixtures.MonkeyPatch(
            f'{base_compute_client.__name__}.COMPUTE_MICROVERSION',
            microversion)

    def request(self, **asked):
        """Request a server and return its ID."""
        asked = {'name': data_utils.rand_name('server'),
                 'flavorRef': self.flavor,
                 'imageRef': CONF.compute.image_ref, **asked}
        asked = fixed_network.set_networks_kwarg(
            self.get_tenant_network(), asked)
        server = self.servers.create_server(**asked)['server']['id']
        self.addCleanup(self.delete, server)
        return server

    def create(self, **asked):
        """Create a server, wait until it is settled, return it."""
        return self.wait_until_settled(self.request(**asked))

    def bury(self, **asked):
        """Create a server that finds no host; return it."""
        buried = self.create(**asked)
        self.assertEqual('ERROR', buried['status'])
        self.assertIn('No valid host', buried['fault']['message'])
        return buried

    def rebuild(self, server, **changes):
        """Rebuild a server with the image it has, and do not wait."""
        image = changes.pop('imageRef', CONF.compute.image_ref)
        return self.servers.rebuild_server(server['id'], image, **changes)

    def wait_until_settled(self, server):
        """Wait until a server with an ID is not built any more; return it."""
        client = self.admin_servers

        def settled():
            shown = client.show_server(server)['server']
            return (shown['status'] != 'BUILD'
                    and shown['OS-EXT-STS:task_state'] is None)

        self.assertTrue(test_utils.call_until_true(
            settled, CONF.compute.build_timeout, CONF.compute.build_interval),
            f'server {server} is still being built')
        return client.show_server(server)['server']

    def assert_rebuilt(self, buried, host):
        """Check that it is the same server, and on a host; return it."""
        server = self.wait_until_settled(buried['id'])
        self.assertEqual('ACTIVE', server['status'], server.get('fault'))
        self.assertEqual(host, server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(buried['created'], server['created'])
        return server

    def delete(self, server):
        """Delete a server with an ID and wait until it is gone."""
        test_utils.call_and_ignore_notfound_exc(
            self.servers.delete_server, server)
        self.assertTrue(test_utils.call_until_true(
            self.is_gone, CONF.compute.build_timeout,
            CONF.compute.build_interval, server),
            f'server {server} is still there')

    def is_gone(self, server):
        """Return whether there is no server with an ID."""
        try:
            self.servers.show_server(server)
        except exceptions.NotFound:
            return True
        return False
