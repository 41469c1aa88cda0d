# SPDX-License-Identifier: Apache-2.0

"""What becomes of creates that fail: buried, or not."""

import time

from tests.functional import base
from tests.functional.support import databases

# The event of a burial, in the event list of a server.
BURIAL = 'conductor_schedule_and_build_instances'
# Those of a failure in the conductor after the scheduler.
QUERY = 'nova.scheduler.client.query.SchedulerQueryClient.select_destinations'
PROVIDERS = 'nova.scheduler.utils.fill_provider_mapping'


class OutcomeMixin:

    def assert_fault(self, server, fault):
        """Wait for the fault, which comes after the status."""
        self._wait_for_assert(lambda: self.assertIn(
            fault, self.api.get_server(server['id']).get('fault', {}).get(
                'message', '')))

    def assert_is_rebuilt(self, server, fault):
        """Check what a buried server shows, and that it can be rebuilt."""
        self.assert_fault(server, fault)
        self.assertEqual('', server['hostId'])
        self.assertEqual([('create', {BURIAL: 'Error'})], self.told(server))
        self.assertEqual(['Error'], self.messages(server))
        self.assertEqual('cell0', databases.cell_of(server['id']))
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assertEqual(
            [self._get_provider_uuid_by_host(
                rebuilt['OS-EXT-SRV-ATTR:host'])],
            list(self._get_allocations_by_server_uuid(server['id'])))
        return rebuilt

    def assert_is_refused(self, server, fault, *history):
        """Check what a server shows that failed later, and that it is 409.

        :param history: what :meth:`told` returns.
        """
        server = self._wait_for_state_change(server, 'ERROR')
        self.assert_fault(server, fault)
        self.assertEqual('', server['hostId'])
        self.assertEqual(list(history), self.told(server))
        self.assertEqual([None], (self.messages(server) or [None])[:1])
        self.assertEqual('cell1', databases.cell_of(server['id']))
        before = self._settled(server)
        image = server['image']['id']
        self.assertEqual(
            self.assert_refused(409, server, base.STOCK, imageRef=image),
            self.assert_refused(409, server, imageRef=image))
        self.assertEqual(before, self.everything(server))

    def _settled(self, server):
        before = None
        # It is ERROR before what it had is cleared up.
        while before != (found := self.everything(server)):
            before = found
            time.sleep(0.5)
        return found

    def everything(self, server):
        """Return all rows, and the allocations of a server."""
        return (databases.dump(),
                self._get_allocations_by_server_uuid(server['id']))

    def told(self, server):
        """Return [(action, {event: result})], oldest first."""
        found = []
        for action in reversed(self.api.get_instance_actions(server['id'])):
            details = self.api.get_instance_action_details(
                server['id'], action['request_id'])
            found.append((action['action'], {
                event['event']: event['result']
                for event in details['events']}))
        return found

    def messages(self, server):
        """Return what the event list says of each action, newest first."""
        return [action['message'] for action in
                self.api.get_instance_actions(server['id'])]

    def create(self, group=None, **body):
        """Ask for a server, in a server group or none."""
        server = dict(self._build_server(networks='none'), **body)
        hints = {'os:scheduler_hints': {'group': group}} if group else {}
        return self.api.post_server({'server': server, **hints})

    def create_while(self, change, **body):
        """Create a server; quota changes when nova-api has checked it."""
        self.useFixture(base.Interception(
            QUERY, before=lambda *args, **kwargs: change()))
        return self.create(**body)
