# SPDX-License-Identifier: Apache-2.0

"""A conductor stalls while it buries a server again.

Meanwhile an operator takes it for dead and buries the server, and its owner
has it rebuilt. Whoever stalled changes nothing of the later attempt.
"""

import contextlib
import threading

from nova import context as nova_context
from nova import objects
from nova import rpc
from oslo_db import exception as db_exc
import oslo_messaging as messaging

from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from cell0_rebuild.move import location
from cell0_rebuild.move import mapped_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.moves import stalling
from tests import releases

_PATIENCE = 30


class StalledBurialTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)
        self.seen = None

    def stall(self, function, **hook):
        """Let the next call of a function stall until a later attempt waits.

        :param hook: when the later attempt waits at the hand-over.
        """
        name = f'{function.__module__}.{function.__name__}'
        stall = stalling.Stall(lambda: self.begin_again(hook))
        stalled = stall.before(function)

        def look_after(*args, **kwargs):
            try:
                return stalled(*args, **kwargs)
            finally:
                if self.reached.is_set() and self.seen is None:
                    self.seen = databases.dump()
                self.go_on.set()
        self.stub_out(name, look_after)
        return stall

    def begin_again(self, hook):
        """Recover the server; have it rebuilt, and wait at the hand-over."""
        recovering.recover(self.server['id'])
        self.useFixture(base.Interception(recovering.HAND_OVER, **hook))
        with self.microversion_is(base.ADDED):
            self.api.post_server_action(self.server['id'], {'rebuild': {}})
        self.assertTrue(self.reached.wait(_PATIENCE))

    def pause(self, *args, **kwargs):
        """Keep the later attempt until the stalled one has gone on."""
        self.reached.set()
        self.go_on.wait(_PATIENCE)

    def fail_in_cell(self):
        """Let the next attempt fail before the hand-over."""
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))

    def fail_to_send(self):
        """Let the next attempt fail after the hand-over."""
        def lose(*args, **kwargs):
            raise messaging.MessageDeliveryFailure('the broker is down')
        self.useFixture(base.Interception(base.CAST, before=lose))

    def assert_live(self, stall):
        """Check that the server is ACTIVE once, in its cell alone."""
        self._wait_for_assert(lambda: self.assertTrue(stall.struck))
        stall.end()
        server = self.active(self.server)
        self.wait_for_the_conductor()
        self.assert_shown_once(server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def assert_waited_for(self):
        """Check that the later attempt did not begin before it went on."""
        self.assertIsNone(self.seen)

    @releases.needs('write_lock')
    def test_it_removes_no_row_of_a_later_attempt(self):
        self.fail_in_cell()
        stall = self.stall(cell_db.remove, before=self.pause)
        self.rebuild(self.server)
        self.assert_live(stall)
        self.assert_waited_for()

    @releases.needs('write_lock')
    def test_it_maps_no_later_attempt_to_cell0(self):
        self.fail_to_send()
        stall = self.stall(mapped_db.remap, after=self.pause)
        self.rebuild(self.server)
        self.assert_live(stall)
        [mapping] = databases.dump()['api']['instance_mappings']
        self.assertEqual([mapping['cell_id']], [
            row['cell_id'] for row in self.seen['api']['instance_mappings']])

    @releases.needs('write_lock')
    def test_it_shows_no_row_that_a_later_attempt_hides(self):
        self.fail_in_cell()
        stall = self.stall(cell0_db.show, before=self.pause)
        self.rebuild(self.server)
        self.assert_live(stall)
        self.assert_waited_for()

    @releases.needs('write_lock')
    def test_it_shows_no_row_that_was_hidden_since_it_left_its_cell(self):
        self.fail_to_send()
        stall = self.stall(cell0_db.show, before=self.pause)
        self.rebuild(self.server)
        self.assert_live(stall)
        self.assert_waited_for()

    @releases.needs('write_lock')
    def test_it_maps_a_server_that_was_buried_since_to_no_cell(self):
        self.fail_to_send()

        def begin_again():
            self.use_a_row()
            self.begin_again({'before': self.pause_and_fail})
        stall = stalling.Stall(begin_again)
        self.stub_out(recovering.REMOVE,
                      stall.before(cell_db.remove))
        remap, mapped = mapped_db.remap, []

        def stall_again(context, uuid, old, new, *args, **kwargs):
            if not self.reached.is_set():
                return remap(context, uuid, old, new, *args, **kwargs)
            # It has found the row of the later attempt, which fails now.
            self.go_on.set()
            self.wait_until_buried()
            mapped.append(remap(context, uuid, old, new, *args, **kwargs))
            return mapped[-1]
        self.stub_out(recovering.REMAP, stall_again)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertTrue(stall.struck))
        # The later attempt waits for the one that stalls.
        self.go_on.set()
        stall.end()
        self.wait_until_buried()
        self.assertNotIn(True, mapped)
        self._wait_for_assert(
            lambda: self.assert_shown_once(self.server['id'], 'ERROR'))
        self.assertEqual('cell0', databases.cell_of(self.server['id']))

    def use_a_row(self):
        """Have the ID of the row in the real cell used no second time."""
        context = nova_context.get_admin_context()
        with nova_context.target_cell(
                context, self.cell_mappings['cell1']) as cctxt:
            objects.Instance(
                cctxt, project_id='fake', user_id='fake', hidden=True).create()

    def pause_and_fail(self, *args, **kwargs):
        """Keep the later attempt as pause does; then let it fail."""
        self.pause()
        raise RuntimeError('the later attempt fails, too')

    def wait_until_buried(self):
        """Wait until the server is in cell0 alone."""
        def buried():
            found = databases.dump()
            self.assertEqual([], found['api']['build_requests'])
            self.assertNotIn('instances', databases.rows_with(
                self.server['id'], found['cell1']))
        self._wait_for_assert(buried)


class InterruptedBurialTest(races_base.RaceTestCase):
    """A burial whose last step fails, and is tried again later."""

    NUMBER_OF_CELLS = 2

    def setUp(self):
        super().setUp()
        self._start_compute('host2', cell_name='cell2')
        self.disable('host2')
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))

    def disable(self, host, status='disabled'):
        self.api.put_service(
            self.computes[host].service_ref.uuid, {'status': status})

    @releases.needs('write_lock')
    def test_its_row_goes_though_the_server_is_in_another_cell_by_then(self):
        remove, lost = cell_db.remove, []

        def lose(*args, **kwargs):
            if lost:
                return remove(*args, **kwargs)
            self.disable('host1')
            self.disable('host2', 'enabled')
            owner = threading.Thread(target=self.ask_until_accepted)
            owner.start()
            lost.append(owner)
            raise db_exc.DBConnectionError(Exception('down'))
        self.stub_out(recovering.REMOVE, lose)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertTrue(lost))
        lost[0].join(_PATIENCE)
        self.active(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            [], databases.dump()['cell1']['instances']))
        self.assertEqual('cell2', databases.cell_of(self.server['id']))

    def ask_until_accepted(self):
        with self.microversion_is(base.ADDED):
            self._wait_for_assert(lambda: self.assertEqual(
                202, self.api.api_request(
                    f'/servers/{self.server["id"]}/action', method='POST',
                    body='{"rebuild": {}}').status_code))

    def test_nobody_waits_while_it_notifies(self):
        depth, seen = [], []

        @contextlib.contextmanager
        def held(*args):
            with lock(*args):
                depth.append(args)
                try:
                    yield
                finally:
                    depth.pop()

        def get_notifier(*args, **kwargs):
            seen.append(len(depth))
            return notifier(*args, **kwargs)
        lock, notifier = location.held, rpc.get_notifier
        self.stub_out(base.name_of(location.held), held)
        self.stub_out('nova.rpc.get_notifier', get_notifier)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertTrue(seen))
        self.assertEqual({0}, set(seen))
