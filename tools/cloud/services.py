# SPDX-License-Identifier: Apache-2.0

"""The programs of the cloud, in the order in which they are started."""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import hashlib
import json
import pathlib

import requests

from tests.integration import brokers
from tests.integration import databases
from tests.integration import processes
from tests.integration import settings
from tools.cloud.configuration import common
from tools.cloud.configuration import nova
from tools.cloud.configuration import services as others
from tools.cloud import daemons
from tools.cloud import hypervisor
from tools.cloud import plan as plans

TOPIC = 'cell0_rebuild'


@dataclasses.dataclass
class Service:
    """A program.

    :param ready: tells whether it does its work.
    :param options: of its configuration file.
    :param port: of the loopback that it listens on, if it does.
    """

    plan: plans.Plan
    name: str
    command: list
    ready: collections.abc.Callable[[], bool]
    environment: dict = dataclasses.field(default_factory=dict)
    file: pathlib.Path | None = None
    options: dict = dataclasses.field(default_factory=dict)
    port: int | None = None

    @property
    def daemon(self):
        """What it runs as."""
        return daemons.Daemon(self.plan.folder, self.name)

    @property
    def digest(self):
        """What is different if it must be started anew."""
        return hashlib.sha256(json.dumps(
            [self.command, self.environment, self.options], default=str,
            sort_keys=True).encode()).hexdigest()

    @property
    def current(self):
        """Whether it runs with what it is configured to by now."""
        daemon = self.daemon
        return daemon.running and daemon.recorded['digest'] == self.digest

    def start(self):
        """Start it, after a stop if it is running.

        :raises ProcessError: if another process has its port.
        """
        self.daemon.stop()
        if self.port and processes.listens(self.port):
            raise processes.ProcessError(
                f'{self.name}: another process listens on its port, '
                f'{self.port}')
        self.write()
        self.daemon.start(self.command, self.digest, **self.environment)

    def write(self):
        """Write its configuration file, if it has one."""
        if self.file:
            settings.write(self.file, self.options)

    def wait(self, seconds=180):
        """Wait until it does its work.

        :raises ProcessError: with the end of its log if it does not.
        """
        daemon = self.daemon
        try:
            processes.poll(lambda: not daemon.running or self.ready(),
                           'that it was ready', seconds)
            if not daemon.running:
                raise processes.ProcessError('it ended')
        except processes.ProcessError as error:
            raise processes.ProcessError(
                f'{self.name}: {error}; {daemon.log} ends with:\n'
                f'{daemon.log.read_text(errors="replace")[-3000:]}') from None


def infrastructure(plan):
    """Return MariaDB, memcached and what RabbitMQ needs, if they are ours."""
    ports = plan.ports
    return [
        Service(plan, name, command, _listens(ports[name]), port=ports[name])
        for url, name, command in (
            (plan.database_url, 'mariadb', databases.server_command(
                plan.folder / 'mariadb', ports['mariadb'])),
            (plan.memcached_url, 'memcached', [
                'memcached', '-l', '127.0.0.1', '-p', ports['memcached'],
                '-m', '64', '-u', 'root']),
            (plan.broker_url, 'epmd',
             list(brokers.epmd_command(ports['epmd']))))
        if not url]


def broker(plan):
    """Return RabbitMQ, if it is ours."""
    ports = plan.ports
    return [] if plan.broker_url else [Service(
        plan, 'rabbitmq', [brokers.SCRIPT], _listens(ports['rabbitmq']),
        brokers.environment(
            plan.folder / 'rabbitmq', ports['rabbitmq'],
            ports['distribution'], ports['epmd']), port=ports['rabbitmq'])]


def identity(plan):
    """Return Keystone."""
    return _wsgi(plan, 'keystone', 'keystone.conf', others.keystone(plan),
                 'keystone.wsgi.api', OS_KEYSTONE_CONFIG_DIR='')


def openstack(plan):
    """Return all services that no other function returns."""
    paste = common.ETC / 'nova/api-paste.ini'
    return [
        _wsgi(plan, 'glance', 'glance-api.conf', others.glance(plan),
              'glance.wsgi.api', OS_GLANCE_CONFIG_DIR=''),
        _wsgi(plan, 'placement', 'placement.conf', others.placement(plan),
              'placement.wsgi.api', OS_PLACEMENT_CONFIG_DIR=''),
        _wsgi(plan, 'neutron', 'neutron.conf', others.neutron(plan),
              'neutron.wsgi.api', OS_NEUTRON_CONFIG_DIR='',
              OS_NEUTRON_CONFIG_FILES='neutron.conf'),
        _wsgi(plan, 'cinder', 'cinder.conf', others.cinder(plan),
              'cinder.wsgi.api'),
        _program(plan, 'cinder-scheduler', 'cinder-scheduler', 'cinder.conf',
                 others.cinder(plan), 'cinder-scheduler.cinder'),
        _program(plan, 'cinder-volume', 'cinder-volume', 'cinder.conf',
                 others.cinder(plan), 'cinder-volume.cinder@files.cinder'),
        _wsgi(plan, 'nova', 'nova.conf', nova.controller(plan, 'nova-api'),
              'nova.wsgi.osapi_compute', OS_NOVA_CONFIG_DIR='',
              OS_NOVA_CONFIG_FILES=f'{paste};nova.conf'),
        _program(plan, 'nova-scheduler', 'nova-scheduler', 'nova.conf',
                 nova.controller(plan, 'scheduler'), 'scheduler.scheduler'),
        _program(plan, 'nova-superconductor', 'nova-conductor', 'nova.conf',
                 nova.controller(plan, 'super'),
                 f'{TOPIC if plan.enabled else "conductor"}.super'),
        *(_program(plan, f'nova-conductor-{cell}', 'nova-conductor',
                   'nova.conf', nova.conductor(plan, cell),
                   f'conductor.{cell}', cell) for cell in plans.CELLS),
    ]


def waiting(plan):
    """Return the waiting service, if Nova has the package."""
    name = 'cell0-rebuild-wait'
    path = _file(plan, name, 'nova.conf')
    return [Service(
        plan, name, [name, '--config-file', path],
        _listens(plan.ports['metrics']), {}, path, nova.waiting(plan),
        plan.ports['metrics'])] if plan.enabled else []


def computes(plan):
    """Return the computes that there are."""
    return [_program(
        plan, f'nova-compute-{name}',
        'nova-compute' if name in plan.guests else 'cloud-nova-compute',
        'nova.conf', nova.compute(plan, name), f'compute.{name}', cell)
        for name, cell in plan.computes.items()]


def hypervisors(plan):
    """Return libvirtd, if there is a host whose guests run."""
    return [Service(
        plan, 'libvirtd', hypervisor.command(plan),
        hypervisor.socket(plan).is_socket)] if plan.guests else []


def _listens(port):
    return lambda: processes.listens(port)


def _answers(url):
    def answers():
        # The socket is there before the application.
        with contextlib.suppress(requests.RequestException):
            return requests.get(url, timeout=5, headers={
                'Accept': 'application/json'}).status_code < 500
        return False

    return answers


def _file(plan, name, file):
    return plan.folder / 'etc' / name / file


def _wsgi(plan, name, file, options, module, **environment):
    path = _file(plan, name, file)
    port = plan.ports[name]
    return Service(
        plan, name, [
            'uwsgi', '--master', '--lazy-apps', '--need-app', '--no-orphans',
            '--die-on-term', '--workers=1', '--threads=8',
            # Said because it does it: clients must not use it again.
            '--add-header=Connection: close', '--buffer-size=65535',
            f'--http-socket=127.0.0.1:{port}',
            f'--module={module}:application',
            *([] if environment else [f'--pyargv=--config-file={path}'])],
        _answers(plan.url(name)),
        {key: value or path.parent for key, value in environment.items()},
        path, options, port)


def _program(plan, name, binary, file, options, queue, virtual_host=''):
    path = _file(plan, name, file)
    return Service(
        plan, name, [binary, '--config-file', path],
        lambda: brokers.has_consumer(plan.broker(virtual_host), queue),
        {}, path, options)
