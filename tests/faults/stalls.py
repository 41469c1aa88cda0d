# SPDX-License-Identifier: Apache-2.0

"""A process stalls where others can see what it does, and goes on later.

Meanwhile an operator takes it for dead and buries the server, and its owner
has it rebuilt. Or they wait for it: that is as good.
"""

import dataclasses
import functools
import json
import threading
import time

from nova import context as nova_context
from nova.scheduler.client import report

from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.functional import base
from tests.functional.support import meanwhile
from tests.functional.support import recovering

GO_ON = 'go_on'
# How long a process stalls while others have to wait for it, and while they
# bring the server back, seconds.
_HELD, _STALL = 6, 20
# How long an operator waits before he takes it for dead.
_AGE = 1
# How long it may take until the server is there again.
_PATIENCE = 60
# What a claim writes.
_EXTRA = 'instance_extra'


@dataclasses.dataclass
class Stall:
    """Keeps a process at one boundary while something else is done.

    It has been asked to cross it, and nobody else has heard of that.

    :param meanwhile: what is done.
    :param done: something of it is: nobody has to wait.
    """

    boundary: boundaries.Boundary
    meanwhile: object = None
    struck: bool = False
    done: threading.Event = dataclasses.field(default_factory=threading.Event)

    def __call__(self, process, boundary, when):
        """Stall if it is the one."""
        if self.struck or (
                boundary, when) != (self.boundary, boundaries.BEFORE):
            return
        self.struck = True
        self._others = meanwhile.Meanwhile(self.meanwhile)
        self._others.start()
        if self.done.wait(_HELD):
            self._others.join(_STALL)

    def wait(self):
        """Wait until the others are done.

        :raises Problem: if they are not, or have failed.
        """
        if not self.struck:
            return
        try:
            self._others.finish(_PATIENCE)
        except AssertionError as error:
            raise stories.Problem(str(error)) from error

    def __str__(self):
        return f'stalled before {self.boundary}'


class StallSeries(series.Series):
    """Runs in which a server is brought back while its conductor stalls."""

    def faults_of(self, crossed):
        """Replace: a stall at each boundary.

        A message that is sent late is another story: see the races.
        """
        return [Stall(boundary) for boundary in crossed
                if boundary.kind != 'cast']

    def bury_one(self, story):
        """Extend: an earlier attempt has left what it had got."""
        server = super().bury_one(story)
        self._leave_allocations(server)
        if server['accelerators']:
            self._leave_accelerator(server)
        return server

    def _leave_allocations(self, server):
        report.report_client_singleton().put_allocations(
            nova_context.get_admin_context(), server['id'], {
                'allocations': {self._get_provider_uuid_by_host('host1'): {
                    'resources': {'VCPU': 1}}},
                'project_id': server['tenant_id'],
                'user_id': server['user_id'], 'consumer_generation': None})

    def _leave_accelerator(self, server):
        [left] = self.cyborg.fake_create_arqs(self.cyborg.dp_name)
        self.cyborg.fake_bind_arqs({left['uuid']: {
            'hostname': 'host1', 'instance_uuid': server['id']}})

    def run_rebuild(self, server, fault=None):
        """Extend: bring the server back during a fault."""
        self._written, self._tolerated = None, []
        if fault is None:
            return super().run_rebuild(server)
        if fault.boundary.kind == 'commit':
            # A claim of a compute and recover then go on at the same time.
            # Nova's fixture has one database at a time for all that name none.
            self._tolerated = [_EXTRA]
        fault.meanwhile = functools.partial(
            self._bring_back, server, fault.done)
        found = super().run_rebuild(server, fault)
        fault.wait()
        return found

    def _bring_back(self, server, done):
        self.have_capacity(True)
        # Whoever stalls has not been heard of for longer than it must be.
        time.sleep(2 * _AGE)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            status = self.api.get_server(server['id'])['status']
            if status == 'ACTIVE':
                self._written = len(self.cinder.written)
                break
            if status == 'BUILD':
                recovering.recover(server['id'], older_than=_AGE)
            else:
                self._ask_again(server)
            done.set()
            time.sleep(0.2)
        if self._written is None:
            raise AssertionError('nobody could bring it back')
        # Who goes on now would claim a host anew, which may hide a loss.
        self.have_capacity(False)

    def _ask_again(self, server):
        with self.microversion_is(base.ADDED):
            # It is 409 if it was moved just now.
            self.api.api_request(
                f'/servers/{server["id"]}/action', method='POST',
                body=json.dumps({'rebuild': server['request']}))

    def check(self, server, fault, run, answer):
        """Replace: what is shown meanwhile is another series' business."""

    def _then_go_on(self, server):
        self.check_active(server)
        self.check_complete(server, self._tolerated)
        if self._written != len(self.cinder.written):
            raise stories.Lost('an image was written when it was ACTIVE')
        wanted = self.api.get_server(server['id'])['flavor']['vcpus']
        claimed = [
            resources['resources'].get('VCPU', wanted) for resources in
            self._get_allocations_by_server_uuid(server['id']).values()]
        if claimed.count(wanted) != len(claimed):
            raise stories.Lost(f'it is allocated {claimed} VCPUs')
        self.delete(server)
        self.check_gone(server, {
            f'orphans in cell0.{table}' for table in self._tolerated
        }.__contains__)
