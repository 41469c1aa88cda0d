# SPDX-License-Identifier: Apache-2.0

"""The story of a server that found no host, and is built after all."""

from nova.tests.fixtures import glance
from nova.tests.fixtures import neutron

from tests.integration import processes
from tools.demo import dialogue

HOST = 'host1'
PORT = neutron.NeutronFixture.port_1
IMAGE = glance.GlanceFixture.image1['id']
SERVER = {
    'name': 'shop',
    'description': 'The shop, do not delete',
    'flavorRef': '1',
    'imageRef': IMAGE,
    'networks': [{'port': PORT['id']}],
    'tags': ['blue', 'shop'],
    'metadata': {'owner': 'Ada'},
}


class Story(dialogue.Dialogue):
    """Tells the story on a deployment, and checks what it tells."""

    def tell(self):
        """Tell all of it.

        :raises ClaimFailed: if something is not as it is told.
        """
        before = self.nova.places(None)
        buried = self._be_buried()
        places = [before, self.nova.places(self.id)]
        self._be_refused()
        added = self._find_microversion()
        self._start_host()
        self._rebuild(added)
        self._compare(buried)
        self._show_history()
        self._show_databases(*places)

    def _be_buried(self):
        self.step(
            'No host', 'No compute service runs yet. A user creates a server '
            'with a port, an address and tags of their own.')
        self.id = self.create(**SERVER)
        server = self.poll()
        fault = server.get('fault', {}).get('message', 'none')
        self.screen.answered(200, status=server['status'], fault=fault)
        self.claim('its status is ERROR', 'ERROR', server['status'])
        wanted = 'No valid host was found'
        self.claim(f'its fault says "{wanted}"', wanted, fault[:len(wanted)])
        # Nova deletes the build request after the server shows its fault.
        processes.poll(
            lambda: not self.nova.places(self.id)['API: build requests'],
            'that its build request was deleted')
        return server

    def _be_refused(self):
        self.step(
            'What Nova answers', 'Hosts will come, but the only record of the '
            'server is in cell0. The user asks for a rebuild all the same, '
            f"at {self.stock}, the highest microversion of Nova's own.")
        answer = self.ask('POST', self.path('/action'), {
            'rebuild': {'imageRef': IMAGE}}, expect=409)
        self.screen.answered(
            409, message=answer['conflictingRequest']['message'])
        self.claim('Nova refuses, and the server stays as it is',
                   'ERROR', self.look()['status'])

    def _find_microversion(self):
        self.step(
            'One microversion more', 'This Nova runs with cell0-rebuild '
            'enabled. A client learns that from the versions document.')
        document = self.ask('GET', '/')['version']
        added = document['version']
        self.screen.answered(
            200, version=added, min_version=document['min_version'])
        major, minor = self.stock.split('.')
        self.claim(f"the maximum is one above Nova's own {self.stock}",
                   f'{major}.{int(minor) + 1}', added)
        return added

    def _start_host(self):
        self.step(
            'A host appears', f'nova-compute is started on {HOST} now, with '
            'the fake driver.')
        self.nova.start_compute(HOST)
        services = self.ask('GET', '/os-services?binary=nova-compute',
                            operator=True)['services']
        found = [(each['host'], each['state']) for each in services]
        for host, state in found:
            self.screen.answered(200, host=host, state=state)
        self.claim('the compute service is up', [(HOST, 'up')], found)
        self.claim('the server does not notice', 'ERROR',
                   self.look()['status'])

    def _rebuild(self, added):
        self.step(
            f'A rebuild, at {added}', 'The same user asks again. No '
            'image is named: the server keeps its own.')
        server = self.ask('POST', self.path('/action'), {'rebuild': {}},
                          expect=202, version=added)['server']
        self.screen.answered(202, id=server['id'], status=server['status'])
        self.claim('it is accepted, for the same server', self.id,
                   server['id'])
        self.claim('its status is BUILD from now on', 'BUILD',
                   server['status'])

    def _compare(self, buried):
        self.step(
            'The same server, built', 'The conductor schedules it again, and '
            'the host builds it for the first time.')
        server = self.poll()
        self.screen.answered(200, status=server['status'])
        self.claim('its status is ACTIVE', 'ACTIVE', server['status'])
        ports = ', '.join(found['port_id'] for found in self.ask(
            'GET', self.path('/os-interface'))['interfaceAttachments'])
        self.screen.answered(200, port_id=ports)
        addresses = ', '.join(
            found['addr'] for network in server['addresses'].values()
            for found in network)
        name = 'OS-EXT-SRV-ATTR:host'
        host = self.ask('GET', self.path(), operator=True)['server'][name]
        self.screen.answered(200, **{name: host})
        self.screen.compare(('', 'when created', f'on {HOST}'), [
            ('id', self.id, server['id']),
            ('port', PORT['id'], ports),
            ('address', PORT['fixed_ips'][0]['ip_address'], addresses),
            *((name, _readable(SERVER[name]), _readable(server[name]))
              for name in ('name', 'description', 'tags', 'metadata')),
            ('image', IMAGE, server['image']['id']),
            ('created', buried['created'], server['created']),
        ])
        self.claim(f'it runs on {HOST}', HOST, host)
        port = self.nova.neutron.show_port(PORT['id'])['port']
        self.claim(
            f'Neutron has its port bound on {HOST}', (self.id, HOST),
            (port.get('device_id'), port.get('binding:host_id')))

    def _show_history(self):
        self.step('Its history', 'The failed create is not forgotten.')
        told = [(action['action'], event['event'],
                 event['start_time'][11:19], event['result'])
                for action in self.actions()
                for event in reversed(self._events(action))]
        self.screen.table(('action', 'event', 'began', 'result'), told)
        self.claim('it is a create that ended in Error, then a rebuild that '
                   'ended in Success',
                   [('create', 'Error'), ('rebuild', 'Success')],
                   [(action, result) for action, _, _, result in told])

    def _events(self, action):
        """Return the events of an action once all of them have ended."""
        def ended():
            events = self.look(f'/os-instance-actions/{action["request_id"]}')[
                'instanceAction']['events']
            return all(found['result'] for found in events) and events

        return processes.poll(ended, f'the end of the {action["action"]}')

    def _show_databases(self, before, buried):
        self.step(
            'A look into the databases', 'What they have of the server: '
            'before the create, while it was buried, and now.')
        now = self.nova.places(self.id)
        self.screen.table(
            ('', 'before', 'buried', 'now'),
            [(place, before[place], buried[place], now[place])
             for place in now])
        self.claim('it was moved to cell1, not copied', [(1, 0), (0, 1)],
                   [(there['cell0: instances'], there['cell1: instances'])
                    for there in (buried, now)])
        for claim, wanted, place in (
                ('nothing of it is left in any table of cell0',
                 before['cell0: all its rows'], 'cell0: all its rows'),
                ('no build request is left over', 0, 'API: build requests'),
                (f'Placement has its claim, on {HOST}', HOST,
                 'Placement: claim on')):
            self.claim(claim, wanted, now[place])


def _readable(value):
    if isinstance(value, dict):
        return ', '.join(f'{key}={item}' for key, item in value.items())
    return ', '.join(value) if isinstance(value, list) else value
