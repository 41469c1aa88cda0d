# SPDX-License-Identifier: Apache-2.0

"""A cloud of real processes: Nova with two cells, Placement and their kin."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal

import fixtures

from tests.integration import brokers
from tests.integration import clients
from tests.integration import databases
from tests.integration import dump
from tests.integration import identity
from tests.integration import novas
from tests.integration import ports
from tests.integration import processes
from tests.integration import settings
from tests.integration import standins
from tests.integration import volumes

FOLDER = pathlib.Path(__file__).resolve().parents[2] / '.state' / 'cloud'
DATABASES = ('api', 'cell0', 'cell1', 'placement')
TOPIC = 'cell0_rebuild'

_CHANGED = pathlib.Path(__file__).parent / 'changed'

# A conductor waits so long for an answer that is lost with the broker.
_QUICK = {'DEFAULT': {'rpc_response_timeout': '20'}}


def _changed(change):
    """Return the environment of a process that is changed."""
    if change is None:
        return {}
    path = os.environ.get('PYTHONPATH')
    return {'CELL0_REBUILD_CHANGE': change,
            'PYTHONPATH': f'{_CHANGED}{os.pathsep}{path}' if path
            else _CHANGED}


@contextlib.contextmanager
def _paused(process):
    process.signal_all(signal.SIGSTOP)
    try:
        yield
    finally:
        process.signal_all(signal.SIGCONT)


def missing_packages():
    """Return the Debian packages that must be installed first."""
    wanted = {'mariadb-server': '/usr/sbin/mariadbd',
              'rabbitmq-server': brokers.SCRIPT}
    return [package for package, program in wanted.items()
            if not pathlib.Path(program).exists()]


class Cloud(fixtures.Fixture):
    """nova-api, nova-scheduler and Placement.

    Conductors and computes are for the test to start. The package is enabled
    in all services but some conductors and nova-apis that a test adds;
    schedulers and computes it must leave alone.
    """

    def __init__(self, nova=None, changes=()):
        """:param nova: the one that it is made of; that of the tests.

        :param changes: of the nova.conf of nova-api and nova-scheduler.
        """
        super().__init__()
        self._of_nova = changes
        self._nova = nova or novas.wanted()

    def _setUp(self):
        self._clear()
        self._conductors = {}
        self._computes = {}
        self._commands = 0
        self._programs = processes.Processes(FOLDER)
        self.addCleanup(self._programs.end)
        self.broker = self.useFixture(
            brokers.RabbitMQ(self._programs, FOLDER))
        self._database = self.useFixture(
            databases.MariaDB(self._programs, FOLDER))
        self._database.create(*DATABASES)
        self._configure()
        self._start()

    def conductors(self, enabled=(), stock=(), **changed):
        """Have these nova-conductors running, and no others.

        :param enabled: the names of those that have the package.
        :param stock: the names of those that do not.
        :param changed: maps a change of :mod:`changed.sitecustomize` to the
            names of those that have the package with that change.
        """
        changes = {name: change for change, names in changed.items()
                   for name in names}
        having = {*enabled, *changes}
        for name in self._conductors.keys() - {*having, *stock}:
            self.kill_conductor(name)
        for name in {*having, *stock} - self._conductors.keys():
            self._wait_until_forgotten(name)
            self._conductors[name] = self._start_service(
                'nova-conductor', name, self._cell1, _QUICK,
                *([settings.ENABLED] if name in having else []),
                **_changed(changes.get(name)))
        for name in having:
            self.wait_for_conductor(name)
        for name in stock:
            self._wait_for_consumer(name, 'conductor')

    def add_conductor(self, name, *changes):
        """Start one more nova-conductor with the package.

        :param changes: of its nova.conf.
        """
        self._wait_until_forgotten(name)
        self._conductors[name] = self._start_service(
            'nova-conductor', name, self._cell1, _QUICK, settings.ENABLED,
            *changes)
        self.wait_for_conductor(name)

    def conductor(self, name):
        """Return the process of a nova-conductor."""
        return self._conductors[name]

    def wait_for_conductor(self, name):
        """Wait until a nova-conductor listens, say to a new broker."""
        self._wait_for_consumer(name, TOPIC)

    def stop_conductor(self, name):
        """Tell a nova-conductor to stop, and return its process."""
        process = self._conductors.pop(name)
        process.signal(signal.SIGTERM)
        return process

    def kill_conductor(self, name):
        """Kill a nova-conductor, its workers too, as a crash does."""
        self._conductors.pop(name).kill()

    @contextlib.contextmanager
    def paused_scheduler(self):
        """Have whatever asks nova-scheduler wait for an answer.

        :returns: a function that waits until it is asked.
        """
        with _paused(self._scheduler), self.broker.tapped(
                'nova', 'scheduler') as count_questions:
            yield lambda: processes.poll(
                count_questions, 'the question to nova-scheduler')

    def paused_conductor(self, name):
        """Have whatever asks this nova-conductor wait for an answer."""
        return _paused(self._conductors[name])

    def command(self, name, *arguments, changes=()):
        """Run a command of the package.

        :param name: its module.
        :param changes: to the configuration file.
        :returns: its exit code, and what it has printed and logged.
        """
        process = self.start_command(name, *arguments, changes=changes)
        return process.code(), process.output

    def start_command(self, name, *arguments, changes=()):
        """Start a command of the package and return its process."""
        self._commands += 1
        conf = self._settings.write_nova(
            f'command-{self._commands}', self._cell1, settings.ENABLED,
            *changes)
        return self._programs.start(
            f'{name}-{self._commands}',
            *self._nova.command(
                f'cell0-rebuild-{name}', '--config-file', conf, *arguments),
            PYTHONWARNINGS='ignore')

    def start_waiting_service(self, *arguments, **options):
        """Start a waiting service and return its process.

        :param options: of its section, beside Keystone's.
        """
        section = {
            'auth_type': 'password', 'username': 'waiting',
            'password': 'secret', 'user_domain_name': 'Default',
            'auth_url': f'{self.keystone.url}/v3', **options}
        return self.start_command('wait', *arguments, changes=[
            {'cell0_rebuild_wait': section}])

    def output_of(self, name):
        """Return what a process has printed and logged."""
        return (FOLDER / 'log' / f'{name}.log').read_text()

    def close_hosts(self):
        """Let no new server be scheduled to the computes that there are."""
        self._set_computes(status='disabled')

    def close_hosts_for_good(self):
        """Close the hosts in Placement, too, whatever Nova tells it.

        Nova gives up to tell it where a host changes there meanwhile. It
        leaves that to a periodic task, and none runs here.
        """
        self.close_hosts()
        processes.poll(
            lambda: clients.disable_providers(self._settings.placement),
            'that Placement knows all hosts as disabled')

    def open_host(self):
        """Have a nova-compute that servers are scheduled to."""
        if not self._computes:
            self.add_host('host')
        self._set_computes(status='enabled')

    @contextlib.contextmanager
    def no_host(self):
        """Have nova-api do without the computes, as if they were dead."""
        self._set_computes(forced_down=True)
        yield
        self._set_computes(forced_down=False)

    def add_host(self, name, *changes):
        """Start a nova-compute, as an operator adds one."""
        self._computes[name] = self._start_service(
            'nova-compute', name, settings.ENABLED, *changes)
        self._wait_for_consumer(name, 'compute')
        self._manage('cell_v2', 'discover_hosts')

    def start_api(self, name, *changes):
        """Start one more nova-api."""
        [port] = processes.free_ports(1)
        return self._start_api(name, port, *changes)

    @contextlib.contextmanager
    def another_api(self, name, *changes):
        """Have one more nova-api.

        :returns: its process and a client of it.
        """
        [port] = processes.free_ports(1)
        process = self._start_api(name, port, *changes)
        try:
            process.wait_for_port(port)
            client = self.client(port)
            # It writes its service record before it answers.
            client.get('/servers')
            yield process, client
        finally:
            process.kill()

    def client(self, port):
        """Return a client of the nova-api on a port."""
        return clients.Client(f'http://127.0.0.1:{port}', self._nova.highest)

    def groups(self):
        """Return the names of the processes by their process group."""
        return self._programs.groups()

    def connect(self):
        """Return a connection to the databases."""
        return self._database.connect()

    def dump(self):
        """Return all that is in the databases."""
        with self.connect() as connection:
            return dump.Dump(connection, DATABASES)

    def allocations(self, server_id):
        """Return what Placement has for a server, by provider."""
        return clients.allocations(self._settings.placement, server_id)

    def _clear(self):
        FOLDER.parent.mkdir(exist_ok=True)
        lock = (FOLDER.parent / 'cloud.lock').open('w')
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        processes.sweep(FOLDER)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(FOLDER)

    def _configure(self):
        self._ports = processes.free_ports(2)
        self.neutron = self.useFixture(ports.Neutron())
        self.cinder = self.useFixture(volumes.Cinder())
        nova, placement = (f'http://127.0.0.1:{port}' for port in self._ports)
        self.keystone = self.useFixture(identity.Keystone(nova))
        self._settings = settings.Settings(
            FOLDER, {name: self._database.url(name) for name in DATABASES},
            self.broker.url, placement,
            self.useFixture(standins.Glance()).url, self.neutron.url,
            self.cinder.url, f'{self.keystone.url}/v3')
        self._cell0 = self._settings.databases('cell0')
        self._cell1 = self._settings.databases('cell1')
        self._manage_conf = self._settings.write_nova(
            'nova-manage', self._cell1, settings.ENABLED)
        self.url = nova
        self.api = self.client(self._ports[0])

    def _start(self):
        self._start_placement()
        self._make_cells()
        self.broker.wait()
        self._start_nova(*self._of_nova)
        self.api.post('/flavors', {'flavor': {
            'id': 'small', 'name': 'small', 'vcpus': 1, 'ram': 64,
            'disk': 1}})

    def _start_placement(self):
        path = self._settings.write_placement()
        self._placement = self._programs.start(
            'placement', *self._nova.placement(self._ports[1]),
            OS_PLACEMENT_CONFIG_DIR=path.parent)

    def _start_nova(self, *changes):
        self._api = self._start_api(
            'nova-api', self._ports[0], settings.ENABLED, *changes)
        self._scheduler = self._start_service(
            'nova-scheduler', 'nova-scheduler', self._cell0, settings.ENABLED,
            *changes)
        self._placement.wait_for_port(self._ports[1])
        self._api.wait_for_port(self._ports[0])

    def _make_cells(self):
        cell1 = self._start_manage('db', 'sync', '--local_cell')
        self._manage('api_db', 'sync')
        mappings = [
            self._start_manage(
                'cell_v2', 'map_cell0', '--database_connection',
                self._database.url('cell0')),
            self._start_manage('cell_v2', 'create_cell', '--name', 'cell1')]
        cell1.finish()
        self._database.copy('cell1', 'cell0')
        for mapping in mappings:
            mapping.finish()

    def _manage(self, *arguments):
        self._start_manage(*arguments).finish()

    def _start_manage(self, *arguments):
        self._commands += 1
        return self._programs.start(
            f'nova-manage-{self._commands}', *self._nova.command(
                'nova-manage', '--config-file', self._manage_conf,
                *arguments))

    def _start_api(self, name, port, *changes):
        path = self._settings.write_nova(name, self._cell0, *changes)
        self._settings.write_paste(name, self._nova.paste)
        return self._programs.start(
            name, *self._nova.api(port), OS_NOVA_CONFIG_DIR=path.parent)

    def _start_service(self, binary, name, *changes, **environment):
        return self._programs.start(
            name, *self._nova.command(
                binary, '--config-file',
                self._settings.write_nova(name, *changes)), **environment)

    def _wait_for_consumer(self, name, topic):
        process = self._conductors.get(name) or self._computes[name]
        process.wait_until(
            lambda: self.broker.has_consumer(f'{topic}.{name}'),
            f'listening on topic {topic}')

    def _wait_until_forgotten(self, name):
        """Wait until the broker has no consumer of a conductor that died."""
        processes.poll(
            lambda: not any(self.broker.has_consumer(f'{topic}.{name}')
                            for topic in (TOPIC, 'conductor')),
            f'that the broker forgot {name}')

    def _set_computes(self, **wanted):
        found = self.api.get('/os-services?binary=nova-compute')
        for service in found['services']:
            if not wanted.items() <= service.items():
                self.api.ask('PUT', f'/os-services/{service["id"]}',
                             wanted).raise_for_status()
