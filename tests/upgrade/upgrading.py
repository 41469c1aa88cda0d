# SPDX-License-Identifier: Apache-2.0

"""Bury servers under an earlier Nova, and rebuild them under this one."""

import json
import uuid

from tests.integration import base
from tests.integration import standins
from tests.upgrade import clouds

_KEY = ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEK+/D2cblvCr9/tzd5LEOJoey5KgvG0'
        'f4TVLEygFRLL')

# What an owner has given to a server, and still sees after a rebuild.
SAME = ('name', 'description', 'metadata', 'tags', 'key_name', 'created',
         'server_groups')

# The last one in which files can be handed to a new server.
_WITH_PERSONALITY = '2.56'


class Upgrade:
    """A cloud with servers that were buried before its upgrade.

    :ivar servers: their IDs, by what is special about them.
    :ivar shown: what their owner saw of each, by its ID.
    :ivar specs: what was stored of the request for each, by its ID.
    :ivar port: that one of them asked for.
    :ivar group: that one of them is in.
    :ivar volume: that one of them boots from.
    """

    def __init__(self, release):
        """Bury the servers and upgrade.

        To be called from ``setUpModule``.

        :param release: the number of the earlier Nova.
        """
        self.cloud = base.shared_cloud(lambda: clouds.Cloud(release))
        self._do = base.Actions(self.cloud)
        self.servers = {}
        self._bury()
        self.shown = {server: self.cloud.api.server(server)
                      for server in self.servers.values()}
        self.specs = specs(self.cloud)
        self.cloud.stop()
        self.cloud.migrate()

    def go_on(self):
        """Start this Nova, with a new host."""
        self.cloud.start(clouds.JUMPED)
        self.cloud.conductors(enabled=['one'])
        self.cloud.add_host('new')

    def _bury(self):
        self.cloud.conductors(enabled=['one'])
        self.cloud.add_host('old')
        self.cloud.close_hosts()
        self._bury_with_networks()
        self._bury_with_volume()
        self._bury_with_personality()
        self._do.wait_for('ERROR', *self.servers.values())
        self.cloud.conductors(stock=['stock'])
        [self.servers['by a conductor without the package']] = self._do.bury()

    def _bury_with_networks(self):
        api = self.cloud.api
        self.port = self.cloud.neutron.add_port()
        self.group = api.post('/os-server-groups', {'server_group': {
            'name': 'group', 'policy': 'anti-affinity'}})['server_group']['id']
        api.post('/os-keypairs', {'keypair': {
            'name': 'key', 'type': 'ssh', 'public_key': _KEY}})
        self._create(
            'with networks', imageRef=standins.IMAGE, key_name='key',
            networks=[{'port': self.port}], tags=['tag'],
            metadata={'name': 'value'}, description='what it is for',
            hints={'group': self.group})

    def _bury_with_volume(self):
        self.volume = str(uuid.uuid4())
        self._create(
            'with a volume', networks='none', block_device_mapping_v2=[{
                'boot_index': 0, 'source_type': 'volume',
                'destination_type': 'volume', 'uuid': self.volume}])

    def _bury_with_personality(self):
        self._create(
            'with personality', _WITH_PERSONALITY, imageRef=standins.IMAGE,
            networks='none', personality=[{
                'path': '/etc/motd', 'contents': 'aGVsbG8='}])

    def _create(self, what, microversion=None, hints=None, **asked):
        answer = self.cloud.api.ask('POST', '/servers', {
            'server': {'name': 'server', 'flavorRef': 'small', **asked},
            'os:scheduler_hints': hints or {}}, microversion)
        answer.raise_for_status()
        self.servers[what] = answer.json()['server']['id']


def specs(cloud):
    """Return what is stored of the request for each server, by its ID."""
    return {row['instance_uuid']: json.loads(row['spec'])
            for row in cloud.dump().rows['api', 'request_specs']}
