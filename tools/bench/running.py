# SPDX-License-Identifier: Apache-2.0

"""A cloud that is running already, asked through its API alone."""

import os
import pathlib
import time

from keystoneauth1 import adapter
from keystoneauth1 import exceptions
from keystoneauth1.identity import v3
from keystoneauth1 import session
import yaml

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
        path = pathlib.Path(os.environ['OS_CLIENT_CONFIG_FILE'])
        self._clouds = yaml.safe_load(path.read_text())['clouds']
        self._user = self._client(os.environ.get('OS_CLOUD', 'demo'))
        self._admin = self._client('admin')

    def __enter__(self):
        self._flavor = self._user.get('/flavors').json()['flavors'][0]['id']
        images = adapter.Adapter(
            self._user.session, service_type='image', interface='public')
        self._image = images.get('/v2/images').json()['images'][0]['id']
        return self

    def __exit__(self, *exc):
        self._set_computes('enabled')

    def bury(self, count):
        """Return the IDs of new buried servers."""
        self._set_computes('disabled')
        found = [self.create() for _ in range(count)]
        for server in found:
            self._wait_for(server, 'ERROR')
        self._set_computes('enabled')
        return found

    def create(self):
        """Ask for a server and return its ID."""
        return self._user.post('/servers', json={'server': {
            'name': 'bench', 'flavorRef': self._flavor,
            'imageRef': self._image, 'networks': 'none',
        }}).json()['server']['id']

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
        self._user.delete(f'/servers/{server}')
        return self.create()

    def remove(self, *servers):
        """Delete servers and wait until they are gone."""
        for server in servers:
            self._user.delete(f'/servers/{server}')
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

    def _client(self, name):
        auth = self._clouds[name]['auth']
        return adapter.Adapter(
            session.Session(auth=v3.Password(**auth)), service_type='compute',
            interface='public', default_microversion=_STOCK)

    def _act(self, server, rebuild, microversion):
        self._user.post(
            f'/servers/{server}/action', json={'rebuild': rebuild},
            microversion=microversion)

    def _wait_for(self, server, status):
        real.wait(lambda: self._status(server) == (status, None))

    def _status(self, server):
        try:
            found = self._admin.get(f'/servers/{server}').json()['server']
        except exceptions.NotFound:
            return None
        return found['status'], found['OS-EXT-STS:task_state']

    def _set_computes(self, status):
        services = self._admin.get('/os-services?binary=nova-compute').json()
        for service in services['services']:
            self._admin.put(f'/os-services/{service["id"]}',
                            json={'status': status})
