# SPDX-License-Identifier: Apache-2.0

"""Rebuilt servers are compared with servers that were never buried."""

from nova.compute import manager as compute_manager
from nova.scheduler import manager as scheduler_manager
from nova.tests import fixtures as nova_fixtures

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.requests import comparison

# Their rows are recorded as the owner sees them, as events.
_ACTIONS = {'instance_actions', 'instance_actions_events'}

# Their rows are read as a dict.
_UNORDERED = {'instance_metadata', 'instance_system_metadata'}

# Of the fake driver's hosts.
_VCPUS = 10


class ComparisonTestCase(base.FunctionalTestCase):
    """Compares rebuilt servers with servers that were never buried."""

    hosts = ('host1', 'host2')

    def setUp(self):
        self._record_calls()
        # Left to itself the scheduler prefers host2.
        self.useFixture(nova_fixtures.HostNameWeigherFixture(
            weights={'host1': 1, 'host2': 100}))
        super().setUp()
        self.cinder = self.useFixture(cinder.CinderFixture(self))
        self._record_neutron()
        for host in self.hosts:
            self._start_compute(host)
        # Nova wants the rules themselves, and the stand-in has their IDs.
        self.neutron._security_groups = {
            uuid: {**group, 'security_group_rules': []}
            for uuid, group in self.neutron._security_groups.items()}
        self.ports = set(self.neutron._ports)
        self.others = {}

    def _record_calls(self):
        self._scheduled = self.useFixture(comparison.Recorder(
            scheduler_manager.SchedulerManager, 'select_destinations',
            lambda arguments: arguments['instance_uuids']))
        self._built = self.useFixture(comparison.Recorder(
            compute_manager.ComputeManager, 'build_and_run_instance',
            lambda arguments: [arguments['instance'].uuid]))

    def _record_neutron(self):
        self._asked = []
        create, update = self.neutron.create_port, self.neutron.update_port

        def create_port(body=None, **kwargs):
            self._asked.append(('create', comparison.plain(body)))
            return create(body, **kwargs)

        def update_port(port_id, body=None, **kwargs):
            self._asked.append(('update', port_id, comparison.plain(body)))
            return update(port_id, body, **kwargs)
        self.neutron.create_port = create_port
        self.neutron.update_port = update_port

    def close(self):
        """Leave no room for any server."""
        self._reserve(_VCPUS)

    def open(self):
        """Make room again."""
        self._reserve(0)

    def _reserve(self, vcpus):
        for host in self.hosts:
            self.reserve_vcpus(host, vcpus)

    def compare(self, body, reference=None, change=None, before=None,
                meanwhile=None, meant=(), microversion=base.STOCK):
        """Check that a rebuilt server is what it would have been.

        :param body: of both creates.
        :param reference: of the create of the server that is never buried,
            where it differs: what the other one becomes while it is buried.
        :param change: is called with each server: with the one while it is
            ACTIVE, with the other one while it is buried.
        :param before: is called before the other one is created.
        :param meanwhile: is called with the server while it is buried.
        :param meant: like MEANT, for this case.
        :returns: the server, rebuilt.
        """
        expected = self._references(
            {**body, **(reference or {})}, change, microversion)
        if before:
            before()
        self.close()
        buried = self._create(body, microversion, 'ERROR')
        for server in buried:
            for call in filter(None, (change, meanwhile)):
                call(server)
        self.open()
        for server in buried:
            self.rebuild(server)
            rebuilt = self.active(server)
        found = [self.recorded(server) for server in buried]
        self.assertEqual([], comparison.unexpected(
            expected, found, (*comparison.MEANT, *meant)))
        for server in buried:
            self.assertEqual(server['created'], self.api.get_server(
                server['id'])['created'])
        return rebuilt

    def _wait_for_state_change(self, server, status, *args, **kwargs):
        self._wait_quickly(lambda: self.assertEqual(
            status, self.api.get_server(server['id'])['status']))
        return super()._wait_for_state_change(server, status, *args, **kwargs)

    def _wait_until_deleted(self, server):
        self._wait_quickly(lambda: self.assertNotIn(
            server['id'], [found['id'] for found in self.api.get_servers()]))
        super()._wait_until_deleted(server)

    def _wait_quickly(self, check):
        self._wait_for_assert(check)

    def _references(self, body, change, microversion):
        servers = self._create(body, microversion, 'ACTIVE')
        for server in servers:
            if change:
                change(server)
        found = [self.recorded(server) for server in servers]
        for server in servers:
            self._delete_server(server)
        return found

    def _create(self, body, microversion, status):
        self._asked.clear()
        there = {server['id'] for server in self.api.get_servers()}
        server = self._build_server(name='compared', networks='none')
        server.update(body)
        hints = server.pop('hints', None)
        request = {'server': {name: value for name, value in server.items()
                              if value is not None}}
        if hints:
            request['os:scheduler_hints'] = hints
        with self.microversion_is(microversion):
            self.api.api_post('/servers', request)
        created = [server for server in self.api.get_servers()
                   if server['id'] not in there]
        return sorted(
            (self._wait_for_state_change(server, status)
             for server in created),
            key=lambda server: server['OS-EXT-SRV-ATTR:launch_index'])

    def recorded(self, server):
        """Return all that can be seen of a server, normalised."""
        uuid = server['id']
        self._wait_quickly(lambda: self.assertTrue(all(
            all(results) for _name, results in self.actions(server))))
        dump = databases.dump()
        rows = {cell: _rows_of(uuid, tables) for cell, tables in dump.items()}
        record = {
            'server': self.api.get_server(uuid),
            'listed': [found for found in self.api.get_servers()
                       if found['id'] == uuid],
            'attachments': self.api.get_server_volumes(uuid),
            'security groups': self.api.api_get(
                f'/servers/{uuid}/os-security-groups').body,
            'groups': [group for group in self.api.get_server_groups()
                       if uuid in group['members']],
            'events': self.actions(server),
            'rows': rows,
            'allocations': comparison.plain(self.placement.get(
                f'/allocations/{uuid}', version='1.38').body),
            'ports': [port for port in self.neutron._ports.values()
                      if port.get('device_id') == uuid],
            'asked of Neutron': [asked for asked in self._asked
                                 if uuid in str(asked)],
            'reservations': [
                reservation for attachments
                in self.cinder.volume_to_attachment.values()
                for reservation in attachments.values()
                if reservation['instance_uuid'] == uuid],
            'scheduled': self._scheduled.calls[uuid],
            'built': self._built.calls[uuid],
        }
        [number] = [row['id'] for row
                    in dump['cell1']['instance_id_mappings']
                    if row['uuid'] == uuid]
        self.assertEqual(
            f'i-{number:08x}',
            record['built']['instance']['ec2_ids']['instance_id'])
        found = comparison.normalised(
            comparison.plain(record), self._own(uuid, record))
        for group in found['groups']:
            group['members'].sort()
        return found

    def _own(self, uuid, record):
        """Return the IDs that a server alone has."""
        rows = record['rows']['cell1']
        own = {**self.others, uuid: '<server>',
               record['server']['OS-EXT-SRV-ATTR:instance_name']: '<name>',
               record['server']['OS-EXT-SRV-ATTR:reservation_id']:
                   '<reservation>'}
        for bdm in rows.get('block_device_mapping', ()):
            device = bdm['device_name'] or 'no device'
            own[bdm['uuid']] = f'<bdm {device}>'
            own[bdm['attachment_id'] or uuid] = f'<attachment {device}>'
            if bdm['volume_id'] in self.cinder.volumes:
                own[bdm['volume_id']] = f'<volume {device}>'
        own[uuid] = '<server>'
        for number, port in enumerate(record['ports']):
            if port['id'] not in self.ports:
                own[port['id']] = f'<port {number}>'
                own[port['id'][:11]] = f'<port {number}>'
                own[port['mac_address']] = f'<address {number}>'
        password = record['built'].get('admin_password')
        if password:
            own[password] = '<password>'
        return own


def _rows_of(uuid, tables):
    """Return the rows that name a server, without their own IDs."""
    found = {}
    for name, rows in tables.items():
        named = [{column: comparison.plain(value)
                  for column, value in row.items() if column != 'id'}
                 for row in rows if uuid in row.values()]
        if name in _UNORDERED:
            named.sort(key=lambda row: row['key'])
        if named and name not in _ACTIONS:
            found[name] = named
    return found
