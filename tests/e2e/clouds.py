# SPDX-License-Identifier: Apache-2.0

"""The cloud of the tests, and what is done with it."""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys

from tests.integration import processes
from tools.cloud import cloud as clouds
from tools.cloud import contents
from tools.cloud import hypervisor
from tools.cloud import plan as plans

FOLDER = plans.ROOT / '.state' / 'e2e-cloud'
ADDED = '2.105'

_cloud = None


def shared():
    """Return a cloud for all tests of the process.

    It is new, unless ``CELL0_REBUILD_CLOUD`` is the folder of one.
    """
    global _cloud
    if _cloud is None:
        _cloud = Cloud()
    return _cloud


def _stop():
    # A process that is about to exit cannot start the threads that do it.
    subprocess.run(
        [sys.executable, '-m', 'tools.cloud', 'down'], cwd=plans.ROOT,
        env={**os.environ, 'CELL0_REBUILD_CLOUD': str(FOLDER)},
        stdout=subprocess.DEVNULL, check=True)


class CommandFailed(Exception):
    """A command of a client ended with an error."""


class Log:
    """What a service logs from now on."""

    def __init__(self, path):
        self._path = path
        self._begin = path.stat().st_size

    @property
    def text(self):
        """All of it."""
        return self._path.read_bytes()[self._begin:].decode(errors='replace')

    def excerpts(self, text):
        """Return each place that has a text, with what is around it."""
        found = self.text
        return [found[max(match.start() - 500, 0):match.start() + 3000]
                for match in re.finditer(re.escape(text), found)]


class Cloud:
    """A running cloud, its operator and a user."""

    def __init__(self):
        if 'CELL0_REBUILD_CLOUD' in os.environ:
            self.plan = plans.Plan.load(plans.FOLDER)
        else:
            self.plan = self._make()
        self._runner = self._runner_of(self.plan)
        self._access = contents.write_access(self.plan).parent / 'clouds.yaml'
        self.operator = contents.connect(self.plan)
        self.user = contents.connect(self.plan, 'demo')

    def up(self, **changes):
        """Have the cloud run with changes to its plan."""
        for name, value in changes.items():
            setattr(self.plan, name, value)
        self.plan.save()
        self._runner.up()

    def only_hosts_in(self, *cells):
        """Let new servers be scheduled to hosts of these cells only.

        Those are hosts whose guests are not real.
        """
        for cell in cells:
            if cell not in self._usual_hosts().values():
                self.add_host(f'host-{cell}', cell)
        self._only_hosts(
            name for name, cell in self._usual_hosts().items()
            if cell in cells)

    def _usual_hosts(self):
        return {name: cell for name, cell in self.plan.computes.items()
                if name not in self.plan.guests}

    def only_real_guests(self):
        """Let new servers be scheduled to a host whose guests run only."""
        if not self.plan.guests:
            self.up(guests=[hypervisor.HOST], computes={
                **self.plan.computes, hypervisor.HOST: plans.CELLS[0]})
        self._only_hosts(self.plan.guests)

    def _only_hosts(self, names):
        names = set(names)
        compute = self.operator.compute
        for service in compute.services(binary='nova-compute'):
            wanted = service.host in names
            if wanted and service.status != 'enabled':
                compute.enable_service(service)
            elif not wanted and service.status == 'enabled':
                compute.disable_service(service)

    def add_host(self, name, cell):
        """Start a nova-compute, as an operator adds one."""
        self._runner.add_computes([name], cell)

    def remove_hosts(self):
        """Have no nova-compute at all."""
        for name in list(self.plan.computes):
            self._runner.remove_compute(name)

    def service(self, name):
        """Return a service by its name."""
        return self._runner.service(name)

    def log(self, service):
        """Return what a service logs from now on."""
        return Log(self.service(service).daemon.log)

    def volume_file(self, volume_id):
        """Return the file that has the data of a volume."""
        return self.plan.folder / 'state/cinder/volumes' / volume_id

    def allocations(self, server_id):
        """Return what Placement has for a server, by provider."""
        answer = self.operator.placement.get(f'/allocations/{server_id}')
        answer.raise_for_status()
        return answer.json()['allocations']

    def run(self, *command, client=None, account='demo'):
        """Run the command line client and return what it prints.

        :param client: its path; the one of the cloud by default.
        :raises CommandFailed: with all that it prints.
        """
        program = client or processes.BIN / 'openstack'
        done = subprocess.run(
            [str(program), *map(str, command)], capture_output=True,
            text=True, stdin=subprocess.DEVNULL, check=False,
            env=processes.clean_environment(
                self.plan.folder / 'home',
                OS_CLIENT_CONFIG_FILE=self._access, OS_CLOUD=account))
        if done.returncode:
            raise CommandFailed(done.stdout + done.stderr)
        return done.stdout

    def manage(self, service, *command):
        """Run the package's command of operators; return how it ended.

        :param service: whose configuration file it has.
        """
        return subprocess.run(
            [processes.BIN / 'cell0-rebuild-manage', '--config-file',
             self.service(service).file, *command], capture_output=True,
            text=True, check=False,
            env=processes.clean_environment(self.plan.folder / 'home'))

    def ask(self, *command):
        """Run the command line client and return what it answers."""
        return json.loads(self.run(*command, '-f', 'json'))

    def _make(self):
        old = plans.Plan.load(FOLDER)
        if old:
            self._runner_of(old).down()
            shutil.rmtree(FOLDER)
        plan = plans.Plan.make(FOLDER)
        plan.enabled = 'CELL0_REBUILD_E2E_STOCK' not in os.environ
        plan.save()
        atexit.register(_stop)
        self._runner_of(plan).up()
        return plan

    def _runner_of(self, plan):
        # The standard output is the test runner's.
        log = (plan.folder / 'steps.log').open('a', buffering=1)
        return clouds.Cloud(plan, functools.partial(print, file=log))
