# SPDX-License-Identifier: Apache-2.0

"""What answers in place of Neutron: one network, and a port per server."""

import copy
import json
import urllib.parse
import uuid

from nova.tests import fixtures as nova_fixtures

from tests.integration import standins

_FIXTURE = nova_fixtures.NeutronFixture
_PROJECT = {'tenant_id': 'project', 'project_id': 'project'}


class _Handler(standins._Handler):

    def answer(self, path):
        """Describe one or list all of a kind."""
        return self.neutron.answer(
            path, urllib.parse.parse_qs(self.path.partition('?')[2]))

    def do_PUT(self):
        """Change a port."""
        size = int(self.headers['Content-Length'])
        self.neutron.change(
            self.path, json.loads(self.rfile.read(size))['port'])
        self.do_GET()


class Neutron(standins._Server):
    """Has a network with ports that are made by the test."""

    def _setUp(self):
        self.handler = type('Handler', (_Handler,), {'neutron': self})
        super()._setUp()
        self.found = {
            'networks': {}, 'subnets': {}, 'ports': {}, 'security-groups': {}}
        self._add('networks', _FIXTURE.network_1)
        self._add('subnets', _FIXTURE.subnet_1)
        self._add('security-groups', _FIXTURE.security_group)

    def add_port(self):
        """Make a port and return its ID."""
        number = len(self.found['ports'])
        return self._add(
            'ports', _FIXTURE.port_1, id=str(uuid.uuid4()),
            mac_address=f'fa:16:3e:00:{number // 256:02x}:{number % 256:02x}',
            fixed_ips=[{
                'ip_address': f'192.168.{number // 200 + 1}.{number % 200}',
                'subnet_id': _FIXTURE.subnet_1['id']}])

    def ports_of(self, server_id):
        """Return the IDs of the ports that are bound to a server."""
        return [port['id'] for port in self.found['ports'].values()
                if port['device_id'] == server_id]

    def servers(self):
        """Return the IDs of all servers that have a port."""
        return {port['device_id'] for port in
                list(self.found['ports'].values()) if port['device_id']}

    def _add(self, kind, like, **changes):
        made = {**copy.deepcopy(like), **_PROJECT, **changes}
        self.found[kind][made['id']] = made
        return made['id']

    def answer(self, path, wanted):
        """Return what a request is answered with."""
        kind, _, found_id = path.removeprefix('/v2.0/').removesuffix(
            '.json').partition('/')
        found = self.found.get(kind, {})
        if found_id:
            if found_id not in found:
                return None
            return {kind.removesuffix('s').replace('-', '_'): found[found_id]}
        return {kind.replace('-', '_'): [
            one for one in list(found.values()) if all(
                str(one.get(name)) in values for name, values in wanted.items()
                if name in one)]}

    def change(self, path, changes):
        """Change a port."""
        found_id = path.rpartition('/')[2].removesuffix('.json')
        self.found['ports'][found_id].update(changes)
