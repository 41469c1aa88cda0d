# SPDX-License-Identifier: Apache-2.0

"""A conductor stalls while it buries a server again.

Meanwhile an operator takes it for dead and buries the server, and its owner
has it rebuilt. Whoever stalled changes nothing of the later attempt.
"""

import threading

import oslo_messaging as messaging

from cell0_rebuild.move import api_db
from cell0_rebuild.move import cell0_db
from cell0_rebuild.move import cell_db
from tests.functional import base
from tests.functional import databases
from tests.functional import races_base
from tests.functional import recovering
from tests.functional import stalling
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
        self.reached.wait(_PATIENCE)

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

    @releases.needs('write_lock')
    def test_it_removes_no_row_of_a_later_attempt(self):
        self.fail_in_cell()
        stall = self.stall(cell_db.remove, before=self.pause)
        self.rebuild(self.server)
        self.assert_live(stall)
        self.assertEqual(
            1, len((self.seen or databases.dump())['cell1']['instances']))

    @releases.needs('write_lock')
    def test_it_maps_no_later_attempt_to_cell0(self):
        self.fail_to_send()
        stall = self.stall(api_db.remap, after=self.pause)
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
        self.assertEqual([], [
            row for row in (self.seen or {'cell0': {'instances': []}})[
                'cell0']['instances'] if not row['hidden']])
