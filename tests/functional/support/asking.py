# SPDX-License-Identifier: Apache-2.0

"""What servers ask the scheduler for, recorded and compared.

Some IDs are made anew with each request. They are left out where two servers
are compared.
"""

import json
import re
from urllib import parse

import fixtures
from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report
from nova.tests.functional.api import client as api_client

from tests.functional import base
from tests.functional.support import databases

_GROUPED = re.compile('(resources|required|in_tree|member_of)(.*)')
# The suffix of a group for one device of a PCI request.
_PCI = re.compile('[0-9a-f-]{36}(-[0-9]+)')
_NAMES = {400: 'badRequest', 403: 'forbidden', 409: 'conflictingRequest'}
_UNLIKE = {'created_at', 'updated_at', 'deleted_at', 'id', 'instance_uuid',
           'nova_object.changes', 'request_id', 'uuid'}


class RecordedQueries(fixtures.Fixture):
    """Records the queries for allocation candidates."""

    def __init__(self):
        self.queries = []

    def _setUp(self):
        get = report.SchedulerReportClient.get

        def recorded(client, url, *args, **kwargs):
            if url.startswith('/allocation_candidates'):
                self.queries.append(url)
            return get(client, url, *args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.client.report.SchedulerReportClient.get',
            recorded))

    def taken(self):
        """Return the queries since the last call, as request groups."""
        taken, self.queries[:] = [_groups(url) for url in self.queries], []
        return taken


def _groups(url):
    """Return [(suffix, {parameter: value})], sorted."""
    groups = {}
    for key, value in parse.parse_qsl(parse.urlsplit(url).query):
        match = _GROUPED.fullmatch(key)
        name, suffix = match.groups() if match else (key, '')
        value = ','.join(sorted(value.split(',')))
        groups.setdefault(suffix, []).append((name, value))
    return sorted((_PCI.sub(r'PCI\1', suffix), sorted(group))
                  for suffix, group in groups.items())


class AskingMixin(base.Cell0RebuildMixin):
    """Compares a rebuilt server with one that found a host at once."""

    def setUp(self):
        super().setUp()
        self.recorded = self.useFixture(RecordedQueries())

    def no_host_fits(self):
        """Disable all computes; their versions still count."""
        self._set_computes('disabled')

    def hosts_fit(self):
        """Enable all computes."""
        self._set_computes('enabled')

    def _set_computes(self, status):
        with self.microversion_is(base.STOCK):
            for service in self.admin_api.get_services(
                    binary='nova-compute'):
                self.admin_api.put_service(service['id'], {'status': status})

    def created(self, **body):
        """Create a server that finds a host."""
        server = self._build_server(networks=body.pop('networks', 'none'))
        server.update(body)
        server = self.api.post_server({'server': server})
        return self._wait_for_state_change(server, 'ACTIVE')

    def made_anew(self, burials=1, **body):
        """Check that a rebuilt server asks for and gets what a new one does.

        :param burials: how often no host fits.
        :returns: the rebuilt server and what it asked for.
        """
        self.recorded.taken()
        server = self.created(**body)
        asked = self.recorded.taken()[0]
        got = self.got(server)
        self._delete_server(server)
        self.no_host_fits()
        server = self.bury(**body)
        self.assertEqual(asked, self.recorded.taken()[0])
        for _ in range(burials - 1):
            self.rebuild(server)
            self.buried_again(server)
            self.assertEqual(asked, self.recorded.taken()[0])
        self.hosts_fit()
        self.rebuild(server)
        server = self.active(server)
        self.assertEqual(asked, self.recorded.taken()[0])
        self.assertEqual([], _differences(got, self.got(server)))
        return server, asked

    def assert_refused_as_a_create(self, code, server, body, computes=None):
        """Check that a rebuild is refused as a create is, without a trace.

        :param body: of the server, for the create.
        :param computes: the version that the oldest compute service has.
        """
        if computes is not None:
            self.useFixture(fixtures.MonkeyPatch(
                'nova.objects.service.get_minimum_version_all_cells',
                lambda *args, **kwargs: computes))
        error = self.assertRaises(
            api_client.OpenStackApiException, self.created, **body)
        self.assertEqual(code, error.response.status_code, str(error))
        self.assertIn(error.response.json()[_NAMES[code]]['message'],
                      self.assert_refused_without_trace(code, server))

    def got(self, server):
        """Return what is stored of a server and of its requests."""
        return {
            'allocations': {
                provider: allocation['resources'] for provider, allocation
                in self._get_allocations_by_server_uuid(server['id']).items()},
            'bindings': self._bindings(server),
            'extra': self._extra(server),
            'spec': _alike(json.loads(databases.spec_of(server['id']).blob))}

    def _bindings(self, server):
        return {port['id']: port.get('binding:profile')
                for port in self.neutron._ports.values()
                if port.get('device_id') == server['id']}

    def _extra(self, server):
        [row] = [row for row in databases.dump()['cell1']['instance_extra']
                 if row['instance_uuid'] == server['id']]
        return {column: _alike(json.loads(value))
                for column, value in row.items()
                if column not in _UNLIKE and value and value[:1] in '[{'}


def _alike(value):
    """Leave out what differs between two servers of the same request."""
    if isinstance(value, list):
        return [_alike(item) for item in value]
    if isinstance(value, dict):
        return {key: _alike(item) for key, item in value.items()
                if key not in _UNLIKE}
    return value


def _differences(expected, found, path=''):
    """Return a readable list of what differs between two values."""
    if not (isinstance(expected, dict) and isinstance(found, dict)):
        return [] if expected == found else [f'{path}: {expected} != {found}']
    return [line for key in sorted({*expected, *found})
            for line in _differences(
                expected.get(key), found.get(key), f'{path}/{key}')]


def suffixes(asked):
    """Return the suffixes of the request groups."""
    return [suffix for suffix, group in asked]


def resources(asked):
    """Return {resource class: amount} of all the groups together."""
    found = {}
    for _, group in asked:
        for name, value in group:
            if name == 'resources':
                for item in value.split(','):
                    key, amount = item.split(':')
                    found[key] = found.get(key, 0) + int(amount)
    return found


def instance_of(server):
    """Return the instance of a server in its cell."""
    context = nova_context.get_admin_context()
    mapping = objects.InstanceMapping.get_by_instance_uuid(
        context, server['id'])
    with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
        return objects.Instance.get_by_uuid(
            cctxt, server['id'], expected_attrs=[
                'numa_topology', 'pci_requests', 'system_metadata'])
