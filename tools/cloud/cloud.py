# SPDX-License-Identifier: Apache-2.0

"""Start the cloud, change it and stop it."""

import concurrent.futures
import contextlib
import json
import shutil
import time

from openstack import exceptions

from tests.integration import brokers
from tests.integration import databases
from tools.cloud import contents
from tools.cloud import daemons
from tools.cloud import hypervisor
from tools.cloud import plan as plans
from tools.cloud import schema
from tools.cloud import services


class NoSuchService(Exception):
    """The cloud has no service of that name."""


class Cloud:
    """The cloud of a plan."""

    def __init__(self, plan, say):
        """:param say: is told what was done, and how long it took."""
        self.plan, self._say = plan, say

    def up(self):
        """Have all of it running; what runs as it should is left alone."""
        self._stop_others()
        self._once('folders', self._make_folders)
        self._start(services.infrastructure(self.plan))
        self._once('databases', lambda: schema.create(self.plan))
        self._once('schemas', lambda: schema.fill(self.plan, self._step))
        # The others ask Keystone for tokens as they start.
        self._start([*services.broker(self.plan),
                     services.identity(self.plan)])
        self._once('accounts', lambda: contents.register(self.plan))
        self._start(services.openstack(self.plan))
        self._once('contents', lambda: contents.provide(self.plan))
        self._prepare_guests()
        self._start([*services.waiting(self.plan),
                     *services.hypervisors(self.plan)])
        self._start(services.computes(self.plan))
        self._discover()

    def add_computes(self, names, cell):
        """Start further computes and let them be scheduled to."""
        self.plan.computes.update(dict.fromkeys(names, cell))
        self.plan.save()
        self._start([self.service(f'nova-compute-{name}') for name in names])
        self._discover()

    def remove_compute(self, name):
        """Stop a compute and have Nova forget it.

        :raises NoSuchService: if there is none.
        :raises openstack.exceptions.ConflictException: if it has servers.
        """
        daemon = self.service(f'nova-compute-{name}').daemon
        compute = contents.connect(self.plan).compute
        daemon.stop()
        try:
            for found in compute.services(host=name, binary='nova-compute'):
                compute.delete_service(found)
        except exceptions.ConflictException:
            self.start(f'nova-compute-{name}')
            raise
        del self.plan.computes[name]
        self.plan.mapped.remove(name)
        self.plan.save()

    def service(self, name):
        """Return a service by its name.

        :raises NoSuchService: if there is none.
        """
        found = {service.name: service for service in self.services()}
        if name not in found:
            raise NoSuchService(
                f'There is no service {name}, only {", ".join(found)}.')
        return found[name]

    def services(self):
        """Return all services, in the order in which they are started."""
        return [*services.infrastructure(self.plan),
                *services.broker(self.plan), services.identity(self.plan),
                *services.openstack(self.plan), *services.waiting(self.plan),
                *services.hypervisors(self.plan),
                *services.computes(self.plan)]

    def start(self, name):
        """Have a service running that was stopped."""
        self._start([self.service(name)])

    def stop(self, name):
        """Stop a service."""
        self._stop(self.service(name).daemon)

    def restart(self, name):
        """Stop a service and start it again."""
        self.stop(name)
        self.start(name)

    def down(self):
        """Stop what was started and nothing else."""
        last = ('mariadb', 'rabbitmq', 'epmd', 'memcached')
        running = daemons.Daemon.all(self.plan.folder)
        for is_last in (False, True):
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                list(pool.map(self._stop, [
                    one for one in running if (one.name in last) == is_last]))

    def _stop_others(self):
        """Stop what an earlier plan had and this one has not."""
        wanted = {service.name for service in self.services()}
        for daemon in daemons.Daemon.all(self.plan.folder):
            if daemon.name not in wanted:
                self._stop(daemon)

    def _make_folders(self):
        folder = self.plan.folder
        if not self.plan.broker_url:
            shutil.rmtree(folder / 'rabbitmq', ignore_errors=True)
            brokers.prepare(folder / 'rabbitmq')
            self._define_virtual_hosts(folder / 'rabbitmq')
        if not self.plan.database_url:
            shutil.rmtree(folder / 'mariadb', ignore_errors=True)
            schema.run(self.plan, 'mariadb-install-db',
                       *databases.install_command(folder / 'mariadb'))

    def _prepare_guests(self):
        if self.plan.guests:
            self._once('libvirt', lambda: hypervisor.prepare(self.plan))
            self._once('guest', lambda: schema.run(
                self.plan, 'guest', *hypervisor.guest_command(self.plan)))
            self._once('guest images', lambda: contents.provide_guests(
                self.plan, hypervisor.guest_folder(self.plan)))

    def _define_virtual_hosts(self, folder):
        hosts = ('/', *plans.CELLS)
        definitions = folder / 'definitions.json'
        definitions.write_text(json.dumps({
            'users': [{'name': 'guest', 'password': 'guest',
                       'tags': ['administrator'], 'limits': {}}],
            'vhosts': [{'name': host} for host in hosts],
            'permissions': [
                {'user': 'guest', 'vhost': host, 'configure': '.*',
                 'write': '.*', 'read': '.*'} for host in hosts]}))
        (folder / 'rabbitmq.conf').write_text(
            f'load_definitions = {definitions}\n')

    @contextlib.contextmanager
    def _step(self, what):
        began, ended = time.monotonic(), 'failed'
        try:
            yield
            ended = 'done'
        finally:
            self._say(f'{ended}  {what}  {time.monotonic() - began:.1f} s')

    def _once(self, name, work):
        if name in self.plan.steps:
            return
        with self._step(name):
            work()
        self.plan.steps.append(name)
        self.plan.save()

    def _start(self, wanted):
        """Start services, all at once, unless they run as they should."""
        def start(service):
            with self._step(f'start {service.name}'):
                service.start()
                service.wait()

        outdated = [service for service in wanted if not service.current]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            list(pool.map(start, outdated))

    def _discover(self):
        if set(self.plan.mapped) == self.plan.computes.keys():
            return
        with self._step('discover hosts'):
            schema.discover_hosts(self.plan)
        self.plan.mapped = list(self.plan.computes)
        self.plan.save()

    def _stop(self, daemon):
        with self._step(f'stop {daemon.name}'):
            daemon.stop()
