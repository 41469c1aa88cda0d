# SPDX-License-Identifier: Apache-2.0

"""A cloud with one host, and the service that waits for it."""

import datetime

from oslo_utils import timeutils

from cell0_rebuild.wait import factory
from tests.functional import asking
from tests.functional import base
from tests.functional import databases
from tests.functional.wait import keystone

WAITS = {'cell0_rebuild_wait': 'yes'}


class SweepMixin(asking.AskingMixin):
    """A cloud with one host, and a service that waits for it."""

    def setUp(self):
        super().setUp()
        self.keystone = self.useFixture(
            keystone.KeystoneFixture(self.api_fixture))
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        self.flags(cpu_allocation_ratio=1.0)
        self._start_compute('host1')
        self.later = datetime.timedelta()
        self.sweeper = self.a_sweeper()

    def a_sweeper(self):
        """Return what a service that has just started sweeps with."""
        sweeper = factory.sweeper()
        sweeper._clock = lambda: timeutils.utcnow() + self.later
        return sweeper

    def fill(self):
        """Leave no VCPU on the host."""
        self.reserve_vcpus('host1', 10)

    def make_room(self, vcpus=1):
        """Leave room for as many small servers."""
        self.reserve_vcpus('host1', 10 - vcpus)

    def wait_for_room(self, metadata=WAITS, **body):
        """Bury a server that asks to wait."""
        return self.bury(metadata=metadata, **body)

    def in_order(self, servers):
        """Return them oldest first, as their rows say."""
        created = {row['uuid']: row['created_at']
                   for row in databases.dump()['cell0']['instances']}
        return sorted(servers, key=lambda server: (
            created[server['id']], server['id']))

    def asked(self):
        """Return the servers whose rebuild was asked for."""
        return [path.split('/')[3] for _, path, _ in self.keystone.requests]

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
