# SPDX-License-Identifier: Apache-2.0

"""Requests of which each is counted."""

from nova.tests import fixtures as nova_fixtures

from cell0_rebuild.conductor import rpc_server
from tests.functional import base
from tests.functional.support import counting

MANY = 100
REBUILD = 'rebuild of a buried server'
_EXECUTOR = base.name_of(rpc_server._executor)


class Scenario(base.FunctionalTestCase):
    """Requests whose costs are counted, each until all of it is done.

    :ivar steps: what they cost, as :class:`counting.CountingFixture` has it.
    :ivar services: likewise.
    """

    def setUp(self):
        self.builds = _Later()
        super().setUp()
        self.useFixture(nova_fixtures.CastAsCallFixture(self))
        self.useFixture(nova_fixtures.SpawnIsSynchronousFixture())
        self.flags(allow_resize_to_same_host=True)
        # Counting the many is not to be stopped by a quota.
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.counts = self.useFixture(counting.CountingFixture())
        self.counts.count_requests(self)
        type(self).steps = self.counts.steps
        type(self).services = self.counts.services

    def scenario(self):
        """Do all of it."""
        self._start_compute('host1')
        # What a process, or a host, looks up once.
        self._post()
        first, rebuilt, given_up = self.buried()
        self.ordinary()
        with self.counts.step('delete of a buried server'):
            self.api.delete_server(given_up['id'])
        if self.enabled:
            # The first one fills what a process remembers.
            self.rebuild_buried(first, 'warm-up')
            # A compute asks Placement about each server that it has.
            self.api.delete_server(first['id'])
            self.rebuild_buried(rebuilt, REBUILD)

    def buried(self):
        """Bury servers, as nobody may have a host for a while."""
        self._set('disabled')
        found = [self._post('burial')]
        found += [self._post() for _ in range(2)]
        self._set('enabled')
        return found

    def ordinary(self):
        """Do what is done to servers that are not buried."""
        server = self._post('create')
        with self.counts.step('show'):
            shown = self.api.get_server(server['id'])
        self.assertEqual('ACTIVE', shown['status'])
        with self.counts.step('list'):
            self.api.get_servers()
        with self.counts.step('external event'):
            self.api.create_server_external_events([{
                'name': 'network-changed', 'server_uuid': server['id']}])
        same = shown['image']['id']
        other = self.glance.auto_disk_config_enabled_image['id']
        for name, image in (('rebuild', same),
                            ('rebuild with another image', other)):
            with self.counts.step(name):
                self._act(server, {'rebuild': {'imageRef': image}})
        with self.counts.step('resize'):
            self._act(server, {'resize': {'flavorRef': self._larger()}})
        with self.counts.step('confirm the resize'):
            self._act(server, {'confirmResize': None})
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])
        with self.counts.step('delete'):
            self.api.delete_server(server['id'])

    def rebuild_buried(self, server, step):
        """Rebuild a buried server."""
        with self.counts.step(step):
            self.rebuild(server)
            self.builds.run()
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])

    def list_many(self):
        """List many servers."""
        self._start_compute('host1')
        server = self._build_server(networks='none')
        self.api.post_server({'server': {
            **server, 'min_count': MANY, 'max_count': MANY}})
        with self.counts.step(f'list of {MANY}'):
            found = self.api.get_servers()
        self.assertEqual(MANY, len(found))

    def start_service(self, name, *args, **kwargs):
        """Extend to know what a conductor does after it has answered."""
        self.stub_out(_EXECUTOR, lambda size: self.builds)
        return super().start_service(name, *args, **kwargs)

    def _post(self, step='warm-up'):
        # It looks for a flavor and an image.
        server = self._build_server(networks='none')
        with self.counts.step(step):
            return self.api.post_server({'server': server})

    def _act(self, server, action):
        self.api.post_server_action(server['id'], action)

    def _set(self, status):
        [compute] = self.api.get_services(binary='nova-compute')
        self.api.put_service(compute['id'], {'status': status})

    def _larger(self):
        return self.api.get_flavors()[1]['id']


class _Later:
    """An executor of what is to be done when a request has been answered."""

    def __init__(self):
        self._waiting = []

    def submit(self, function, *args):
        """Have a function called later."""
        self._waiting.append((function, args))

    def run(self):
        """Call what is waiting."""
        while self._waiting:
            function, args = self._waiting.pop(0)
            function(*args)

    def shutdown(self):
        """Be told that nothing else comes."""
