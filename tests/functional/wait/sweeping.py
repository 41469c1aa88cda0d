# SPDX-License-Identifier: Apache-2.0

"""A cloud with one host, and the service that waits for it."""

import datetime
import itertools

import fixtures
from nova.db.main import models
from oslo_utils import timeutils

from cell0_rebuild.wait import factory
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import asking
from tests.functional.support import databases
from tests.functional.wait import keystone

WAITS = {'cell0_rebuild_wait': 'yes'}


class Haste(fixtures.Fixture):
    """Lets a service that runs sweep again at once."""

    def _setUp(self):
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.service._WAIT', lambda retry_state: 0.05))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.service._STANDBY', 0.05))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.decision.pacing.interval', lambda *args: 0.05))


class SweepMixin(asking.AskingMixin):
    """A cloud with one host, and a service that waits for it."""

    def setUp(self):
        super().setUp()
        self.keystone = self.useFixture(
            keystone.KeystoneFixture(self.api_fixture))
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.flags(cpu_allocation_ratio=1.0)
        # Sweeps follow one another at once, and each is to ask Placement.
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.decision.pacing.asks_in', lambda *args: 0.0))
        self._start_compute('host1')
        self.later = datetime.timedelta()
        before = timeutils.utcnow() - datetime.timedelta(minutes=1)
        self._moments = (before + datetime.timedelta(seconds=passed)
                         for passed in itertools.count())
        self.sweeper = self.a_sweeper()

    def a_sweeper(self):
        """Return what a service that has just started sweeps with."""
        return factory.sweeper(clock=self.now)

    def now(self):
        """Return the present, as the service takes it."""
        utc, seconds = times.now()
        return values.Now(
            utc + self.later, seconds + self.later.total_seconds())

    def fill(self):
        """Leave no VCPU on the host."""
        self.reserve_vcpus('host1', 10)

    def make_room(self, vcpus=1):
        """Leave room for as many small servers."""
        self.reserve_vcpus('host1', 10 - vcpus)

    def wait_for_room(self, metadata=WAITS, **body):
        """Bury a server that asks to wait, behind those before."""
        server = self.bury(metadata=metadata, **body)
        self.goes_last(server)
        return server

    def goes_last(self, server):
        """Have a server be younger than those before.

        Among those of the same second, the UUID decides.
        """
        databases.update('cell0', models.Instance, server['id'],
                         created_at=next(self._moments))

    def asked(self):
        """Return the servers whose rebuild was asked for."""
        return [path.split('/')[3] for method, path, _
                in self.keystone.requests if method == 'POST']

    def told(self, server):
        """Return why the owner is told that a server waits."""
        return [action['message'] for action in
                self.api.get_instance_actions(server['id'])
                if action['action'] == 'wait']

    def codes(self, swept):
        """Return why each server waits."""
        return {uuid: reason.code.value
                for uuid, reason in swept.reasons.items()}

    def assert_left_alone(self, *servers, code=None):
        """Sweep; check that these are not rebuilt, and why."""
        swept = self.sweeper.sweep()
        self.assertEqual([], self.asked())
        for server in servers:
            self.assertEqual(code, self.codes(swept).get(server['id']))
        return swept
