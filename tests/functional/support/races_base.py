# SPDX-License-Identifier: Apache-2.0

"""A buried server with a host for it, and what can come too late."""

import datetime
import threading

import futurist
from nova import context as nova_context
from nova import objects

from cell0_rebuild.conductor import endpoint
from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import reburial
from cell0_rebuild import rpcapi
from tests.functional import base
from tests.functional.support import databases

SCHEDULER = ('nova.scheduler.client.query.SchedulerQueryClient.'
             'select_destinations')
# Hands a rebuild to a conductor.
REQUEST = base.name_of(rpcapi.RebuildAPI.rebuild_instance_in_cell0)


class RaceTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury_it()
        self._start_compute('host1')

    def bury_it(self):
        """Return a server that is buried."""
        return self.bury()

    def assert_gone(self):
        """Check that nothing of the server can be seen any more."""
        self._wait_until_deleted(self.server)
        self.assertEqual([], self.api.get_servers())
        # A conductor that is at work learns of it at its next step.
        self._wait_for_assert(self._assert_nothing_left)

    def _assert_nothing_left(self):
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        found = databases.dump()
        self.assertEqual([], found['api']['build_requests'])
        rows = [row for cell in ('cell0', 'cell1')
                for row in found[cell]['instances']]
        self.assertEqual([], [row for row in rows if not row['deleted']])
        if not any(row['uuid'] == self.server['id'] for row in rows):
            # Nova archives them with the row of the instance.
            self.assertEqual([], databases.rows_with(
                self.server['id'], found['api']))

    def bury_as_an_operator_would(self, *args, **kwargs):
        context = nova_context.get_admin_context()
        build_request = objects.BuildRequest.get_by_instance_uuid(
            context, self.server['id'])
        entry = api_db.take_over(
            context, self.server['id'], datetime.datetime.max, 'an operator',
            None)
        reburial.bury_again(
            context, attempts.Attempt.taken(build_request, entry), None,
            self._record)

    def _record(self, context):
        instance = objects.Instance.get_by_uuid(context, self.server['id'])
        instance.vm_state = 'error'
        instance.save()

    def wait_for_the_conductor(self):
        """Wait until the row in cell0 is gone or shown again."""
        self._wait_for_assert(lambda: self.assertFalse(any(
            row['hidden'] or row['task_state'] == 'scheduling'
            for row in databases.dump()['cell0']['instances']
            if not row['deleted'])))


class HeldMessage(base.fixtures.Fixture):
    """Holds the messages to the conductor back until they are delivered."""

    def _setUp(self):
        self._held = []
        self._holds = True
        send = rpcapi.RebuildAPI.rebuild_instance_in_cell0

        def hold(api, context, *args):
            if self._holds:
                self._held.append((context, args))
                return True
            return send(api, context, *args)
        self.useFixture(base.fixtures.MonkeyPatch(REQUEST, hold))

    def let_through(self):
        """Hold back no more messages."""
        self._holds = False

    def deliver(self, index=0):
        """Deliver a message that was held back; return the answer."""
        context, args = self._held[index]
        copy = nova_context.RequestContext.from_dict(context.to_dict())
        uuid, attempt, spec, *others = args
        with futurist.SynchronousExecutor() as executor:
            return endpoint.RebuildEndpoint(
                executor).rebuild_instance_in_cell0(
                    copy, uuid, attempt, spec.obj_clone(), *others)


class HeldHandOver(base.fixtures.Fixture):
    """Holds a conductor that has handed a server over to a cell."""

    def _setUp(self):
        self._reached, self.goes_on = threading.Event(), threading.Event()
        self.useFixture(base.Interception(base.CAST, before=self._hold))

    def _hold(self, *args, **kwargs):
        self._reached.set()
        self.goes_on.wait(30)

    def rebuild(self, test):
        """Have the server of a test rebuilt until it is handed over."""
        test.rebuild(test.server)
        test.assertTrue(self._reached.wait(30))
