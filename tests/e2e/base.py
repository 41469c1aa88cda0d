# SPDX-License-Identifier: Apache-2.0

"""What tests do with the cloud."""

import uuid

import testtools

from tests.e2e import clouds
from tests.integration import processes
from tools.cloud import contents


class CloudTestCase(testtools.TestCase):
    """A test on the cloud, which begins without a host that is open."""

    def setUp(self):
        super().setUp()
        self.cloud = clouds.shared()
        self.user = self.cloud.user
        self.nova_log = self.watch_log('nova', 'Traceback (most recent call')
        self.cloud.only_hosts_in()

    def unique(self, kind):
        """Return a name that nothing else has."""
        return f'{kind}-{uuid.uuid4().hex[:8]}'

    def watch_log(self, service, text):
        """Fail in the end if a service has logged a text; return its log."""
        log = self.cloud.log(service)

        def check():
            if found := log.excerpts(text):
                self.fail('\n'.join([f'{service} has logged:', *found]))

        # What is cleaned up after it was set up before it.
        self.addCleanup(check)
        return log

    def create_server(self, flavor='tiny', **wanted):
        """Ask for a server, which is deleted after the test."""
        compute = self.user.compute
        server = compute.create_server(
            name=self.unique('server'), networks=wanted.pop(
                'networks', 'none'),
            flavor_id=compute.find_flavor(flavor).id, **{
                'image_id': self.image(contents.IMAGE), **wanted})
        self.addCleanup(self.delete_server, server.id)
        return server.id

    def bury(self, **wanted):
        """Have a server for which there is no host; return its ID."""
        server = self.create_server(**wanted)
        self.wait_for('ERROR', server)
        fault = self.server(server).fault
        self.assertIn('No valid host was found', fault['message'])
        return server

    def delete_server(self, server):
        """Delete a server, if it is still there, and wait for it."""
        compute = self.user.compute
        compute.delete_server(server)
        processes.poll(
            lambda: compute.find_server(server) is None,
            f'that {server} was deleted')

    def server(self, server):
        """Return a server as its owner sees it."""
        return self.user.compute.get_server(server)

    def host_of(self, server):
        """Return the host of a server as the operator sees it."""
        return self.cloud.operator.compute.get_server(
            server).compute_host

    def wait_for(self, status, *servers, seconds=120):
        """Wait until servers have a status."""
        def found():
            return {server.id: server.status for server in
                    self.user.compute.servers() if server.id in servers}

        expected = dict.fromkeys(servers, status)
        try:
            processes.poll(lambda: found() == expected,
                           f'that servers became {status}', seconds)
        except processes.ProcessError as error:
            self.fail(f'{error}: {found()}')

    def rebuild(self, server, microversion=clouds.ADDED, **changes):
        """Ask for a rebuild and return the answer, whatever it is."""
        return self.user.compute.post(
            f'/servers/{server}/action', json={'rebuild': changes},
            microversion=microversion)

    def accept_rebuild(self, server, **changes):
        """Ask for a rebuild, which must be accepted."""
        answer = self.rebuild(server, **changes)
        self.assertEqual(202, answer.status_code, answer.text)

    def image(self, name):
        """Return the ID of an image."""
        return self.user.image.find_image(name).id

    def create_port(self):
        """Make a port, which is deleted after the test."""
        network = self.user.network.find_network(contents.NETWORK)
        port = self.user.network.create_port(
            name=self.unique('port'), network_id=network.id)
        self.addCleanup(self.user.network.delete_port, port)
        return port

    def create_volume(self, **wanted):
        """Make a volume, which is deleted after the test."""
        api = self.user.block_storage
        volume = api.create_volume(
            name=self.unique('volume'), size=1, **wanted)
        self.addCleanup(self._delete_volume, volume)
        return api.wait_for_status(volume, 'available', wait=60)

    def _delete_volume(self, volume):
        self.user.block_storage.wait_for_status(volume, 'available', wait=60)
        self.user.block_storage.delete_volume(volume)
        self.user.block_storage.wait_for_delete(volume, wait=60)
