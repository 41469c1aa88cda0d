# SPDX-License-Identifier: Apache-2.0

"""Several services at once on one cloud rebuild each server once."""

import collections

from cell0_rebuild.wait import factory
from cell0_rebuild.wait import service
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import keystone
from tests.functional.wait import sweeping

SERVICES = 4


class ManyServicesTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(sweeping.Haste())
        # Who was second waits no longer than the test does.
        self.flags(backoff='1s', backoff_max='1s', group=keystone.GROUP)
        self.fill()
        self.servers = [self.wait_for_room() for _ in range(6)]
        for _ in range(SERVICES):
            one = service.WaitingService(factory.sweeper)
            self.addCleanup(one.stop)
            one.start()

    def rebuilds(self, server):
        """Return the results of the rebuilds of a server."""
        return [set(results) for action, results in self.actions(server)
                if action == 'rebuild']

    def test_each_is_rebuilt_once_and_no_more_than_there_is_room(self):
        self.make_room(4)
        self._wait_for_assert(self.check)
        landed = [server for server in self.servers if
                  self.api.get_server(server['id'])['status'] == 'ACTIVE']
        self.assertEqual(
            [1] * 4, [self.rebuilds(one).count({'Success'}) for one in landed])
        self.assertEqual(2, len(databases.dump()['cell0']['instances']))

    def check(self):
        """Check that four of six have landed, and the others wait."""
        statuses = collections.Counter(
            server['status'] for server in self.api.get_servers())
        self.assertEqual({'ACTIVE': 4, 'ERROR': 2}, statuses)
        self.assertEqual(2, len([
            row for row in databases.dump()['cell0']['instances']
            if not row['deleted']]))
