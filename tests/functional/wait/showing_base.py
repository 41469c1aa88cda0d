# SPDX-License-Identifier: Apache-2.0

"""A server that asked to wait, in a cloud that shows it as BUILD."""

from tests.functional.support import archiving
from tests.functional import base
from tests.functional.wait import keystone
from tests.functional.wait import sweeping


class ShowingTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    options = {'vm_states': ['error', 'building']}

    def setUp(self):
        super().setUp()
        self.fill()
        self.server = self.wait_for_room({'cell0_rebuild_wait': '1h'})
        self.flags(show='build', group=keystone.GROUP)

    def assert_shown(self, status):
        """Check what GET and the lists show of it."""
        self.assert_shown_once(self.server['id'], status)

    def assert_gone(self):
        """Check that it is deleted, and what archiving leaves of it."""
        self._wait_until_deleted(self.server)
        self.assertEqual([], self.api.get_servers())
        # A conductor that is at work learns of it at its next step.
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id'])), 10)
        self._wait_for_assert(lambda: archiving.assert_archived(
            self, self.server['id']), 10)
