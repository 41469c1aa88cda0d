# SPDX-License-Identifier: Apache-2.0

"""The story of a server that found no host, and is built after all."""

from demonstration import deployment
from demonstration import dialogue as dialogues
from tests.functional.support import databases
from tests.integration import processes

HOST = 'host1'
PORT = deployment.PORT
ADDRESS = PORT['fixed_ips'][0]['ip_address']
SERVER = {
    'name': 'shop',
    'description': 'The shop, do not delete',
    'flavorRef': '1',
    'imageRef': deployment.IMAGE_ID,
    'networks': [{'port': PORT['id']}],
    'tags': ['blue', 'shop'],
    'metadata': {'owner': 'Ada'},
}

# The places of the databases that are looked at.
_BURIED = 'cell0: instances'
_CELL0 = 'cell0: all its rows'
_BUILT = 'cell1: instances'
_REQUESTS = 'API: build requests'
_MAPPED = 'API: mapped to'
_CLAIMS = 'Placement: claim on'


class Story(dialogues.Dialogue):
    """Tells the story on a deployment, and checks what it tells."""

    def __init__(self, screen, nova):
        super().__init__(screen, nova)
        self.added = None
        self._buried = None
        self._places = []

    def tell(self):
        """Tell all of it.

        :raises ClaimFailed: if something is not as it is told.
        """
        self._note_places()
        self._be_buried()
        self._be_refused()
        self._find_microversion()
        self._start_host()
        self._rebuild()
        self._compare()
        self._show_history()
        self._show_databases()

    def _be_buried(self):
        self._screen.step(
            'No host', 'No compute service runs yet. A user creates a server '
            'with a port, an address and tags of their own.')
        self._id = self._create(**SERVER)
        self._buried = self._poll(self._path())
        fault = self._buried.get('fault', {}).get('message', 'none')
        self._screen.answered(200, status=self._buried['status'], fault=fault)
        self._claim('its status is ERROR', 'ERROR', self._buried['status'])
        wanted = 'No valid host was found'
        self._claim(f'its fault says "{wanted}"', wanted, fault[:len(wanted)])
        # Nova deletes the build request after the server shows its fault.
        processes.poll(lambda: not self._nova.build_requests(),
                       'that its build request was deleted')
        self._note_places()

    def _be_refused(self):
        self._screen.step(
            'What Nova answers', 'Hosts will come, but the only record of the '
            'server is in cell0. The user asks for a rebuild all the same, '
            f"at {self._stock}, the highest microversion of Nova's own.")
        answer = self._ask(
            'POST', self._path('/action'),
            {'rebuild': {'imageRef': SERVER['imageRef']}}, 409)
        self._screen.answered(
            409, message=answer['conflictingRequest']['message'])
        self._claim('Nova refuses, and the server stays as it is',
                    'ERROR', self._server()['status'])

    def _find_microversion(self):
        self._screen.step(
            'One microversion more', 'This Nova runs with cell0-rebuild '
            'enabled. A client learns that from the versions document.')
        document = self._ask('GET', '/')['version']
        self.added = document['version']
        self._screen.answered(
            200, version=self.added, min_version=document['min_version'])
        major, minor = self._stock.split('.')
        self._claim(f"the maximum is one above Nova's own {self._stock}",
                    f'{major}.{int(minor) + 1}', self.added)

    def _start_host(self):
        self._screen.step(
            'A host appears', f'nova-compute is started on {HOST} now, with '
            'the fake driver.')
        self._nova.start_compute(HOST)
        services = self._ask(
            'GET', '/os-services?binary=nova-compute',
            who='operator')['services']
        for service in services:
            self._screen.answered(
                200, host=service['host'], state=service['state'])
        self._claim('the compute service is up', [(HOST, 'up')],
                    [(found['host'], found['state']) for found in services])
        self._claim('the server does not notice', 'ERROR',
                    self._server()['status'])

    def _rebuild(self):
        self._screen.step(
            f'A rebuild, at {self.added}', 'The same user asks again. No '
            'image is named: the server keeps its own.')
        server = self._ask(
            'POST', self._path('/action'), {'rebuild': {}}, 202,
            version=self.added)['server']
        self._screen.answered(202, id=server['id'], status=server['status'])
        self._claim('it is accepted, for the same server', self._id,
                    server['id'])
        self._claim('its status is BUILD from now on', 'BUILD',
                    server['status'])

    def _compare(self):
        self._screen.step(
            'The same server, built', 'The conductor schedules it again, and '
            'the host builds it for the first time.')
        server = self._poll(self._path())
        self._screen.answered(200, status=server['status'])
        self._claim('its status is ACTIVE', 'ACTIVE', server['status'])
        interfaces = self._ask(
            'GET', self._path('/os-interface'))['interfaceAttachments']
        ports = ', '.join(found['port_id'] for found in interfaces)
        addresses = ', '.join(
            found['addr'] for network in server['addresses'].values()
            for found in network)
        self._screen.answered(200, port_id=ports)
        host = self._ask('GET', self._path(), who='operator')['server'][
            'OS-EXT-SRV-ATTR:host']
        self._screen.answered(200, **{'OS-EXT-SRV-ATTR:host': host})
        self._screen.compare(('', 'when created', f'on {HOST}'), [
            ('id', self._id, server['id']),
            ('port', PORT['id'], ports),
            ('address', ADDRESS, addresses),
            *((name, _readable(SERVER[name]), _readable(server[name]))
              for name in ('name', 'description', 'tags', 'metadata')),
            ('image', SERVER['imageRef'], server['image']['id']),
            ('created', self._buried['created'], server['created']),
        ])
        self._claim(f'it runs on {HOST}', HOST, host)
        port = self._nova.neutron.show_port(PORT['id'])['port']
        self._claim(
            f'Neutron has its port bound on {HOST}', (self._id, HOST),
            (port.get('device_id'), port.get('binding:host_id')))

    def _show_history(self):
        self._screen.step('Its history', 'The failed create is not forgotten.')
        told = [(action['action'], event['event'],
                 event['start_time'][11:19], event['result'])
                for action in self._actions()
                for event in reversed(self._events(action))]
        self._screen.table(('action', 'event', 'began', 'result'), told)
        self._claim('it is a create that ended in Error, then a rebuild that '
                    'ended in Success',
                    [('create', 'Error'), ('rebuild', 'Success')],
                    [(action, result) for action, _, _, result in told])

    def _events(self, action):
        """Return the events of an action once all of them have ended."""
        path = self._path(f'/os-instance-actions/{action["request_id"]}')

        def ended():
            events = self._look(path)['instanceAction']['events']
            return all(found['result'] for found in events) and events

        return processes.poll(ended, f'the end of the {action["action"]}')

    def _show_databases(self):
        self._screen.step(
            'A look into the databases', 'What they have of the server: '
            'before the create, while it was buried, and now.')
        self._note_places()
        before, buried, now = self._places
        self._screen.table(
            ('', 'before', 'buried', 'now'),
            [(place, before[place], buried[place], now[place])
             for place in now])
        self._claim('it was moved to cell1, not copied', [(1, 0), (0, 1)],
                    [(there[_BURIED], there[_BUILT])
                     for there in (buried, now)])
        self._claim('nothing of it is left in any table of cell0',
                    before[_CELL0], now[_CELL0])
        self._claim('no build request is left over', 0, now[_REQUESTS])
        self._claim(f'Placement has its claim, on {HOST}', HOST, now[_CLAIMS])

    def _note_places(self):
        """Remember what the databases have at this point."""
        cell0, cell1 = self._nova.rows('cell0'), self._nova.rows('cell1')
        there = self._id is not None
        self._places.append({
            _BURIED: cell0['instances'],
            _CELL0: sum(cell0.values()),
            _BUILT: cell1['instances'],
            _REQUESTS: self._nova.build_requests(),
            _MAPPED: databases.cell_of(self._id) if there else '',
            _CLAIMS: ', '.join(
                self._nova.allocations(self._id)) if there else '',
        })


def _readable(value):
    if isinstance(value, dict):
        return ', '.join(f'{key}={item}' for key, item in value.items())
    return ', '.join(value) if isinstance(value, list) else value
