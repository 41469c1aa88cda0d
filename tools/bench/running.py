# SPDX-License-Identifier: Apache-2.0

"""A cloud that is running already, asked through its API alone."""

import os
import time

import openstack
from openstack import exceptions
import pairs
import real

_STOCK, _ADDED = '2.104', '2.105'


def measure(rounds):
    """Return the samples of each way to get a server, in seconds."""
    return pairs.measure(rounds, Cloud)


class Cloud:
    """The cloud of clouds.yaml, as a user and as an administrator.

    It needs a flavor, an image, and nobody else who uses it.
    """

    def __init__(self):
        self._user, self._admin = (
            openstack.connect(name, compute_default_microversion=_STOCK)
            for name in (os.environ.get('OS_CLOUD', 'demo'), 'admin'))

    def __enter__(self):
        self._flavor = next(self._user.compute.flavors()).id
        self._image = next(self._user.image.images()).id
        return self

    def __exit__(self, *exc):
        self._set_computes(self._admin.compute.enable_service)

    def bury(self, count):
        """Return the IDs of new buried servers."""
        self._set_computes(self._admin.compute.disable_service)
        found = [self.create() for _ in range(count)]
        for server in found:
            self._wait_for(server, 'ERROR')
        self._set_computes(self._admin.compute.enable_service)
        return found

    def create(self):
        """Ask for a server and return its ID."""
        return self._user.compute.create_server(
            name='bench', flavor_id=self._flavor, image_id=self._image,
            networks='none').id

    def rebuild(self, server):
        """Ask for the rebuild of a buried server."""
        self._act(server, {}, _ADDED)
        return server

    def rebuild_launched(self, server):
        """Ask for the rebuild of a launched server."""
        self._act(server, {'imageRef': self._image}, _STOCK)
        return server

    def replace(self, server):
        """Do what is done today: delete a server and create another."""
        self._user.compute.delete_server(server)
        return self.create()

    def remove(self, *servers):
        """Delete servers and wait until they are gone."""
        for server in servers:
            self._user.compute.delete_server(server)
        for server in servers:
            real.wait(lambda server=server: self._status(server) is None)

    def wait_until_active(self, *servers):
        """Wait until servers are ACTIVE."""
        for server in servers:
            self._wait_for(server, 'ACTIVE')

    def wait_until_clear(self, *servers):
        """Give a conductor the time to clear up after rebuilds."""
        time.sleep(2)

    def usage(self):
        """Return nothing: the processes are not ours."""
        return {}

    def _act(self, server, rebuild, microversion):
        exceptions.raise_from_response(self._user.compute.post(
            f'/servers/{server}/action', json={'rebuild': rebuild},
            microversion=microversion))

    def _wait_for(self, server, status):
        real.wait(lambda: self._status(server) == (status, None))

    def _status(self, server):
        try:
            found = self._admin.compute.get_server(server)
        except exceptions.NotFoundException:
            return None
        return found.status, found.task_state

    def _set_computes(self, change):
        for service in self._admin.compute.services(binary='nova-compute'):
            change(service)
