# SPDX-License-Identifier: Apache-2.0

"""What a rebuild tells operators: one line with its phases, notifications."""

import logging

import fixtures
from nova.tests import fixtures as nova_fixtures

from tests.functional import base

_SECONDS = r' \d+\.\d{3} s'


def phases(*names):
    """Return a pattern of the phases that are to be logged."""
    return ', '.join(f'{name}{_SECONDS}' for name in names) + '$'


class PhasesTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.logged = self.useFixture(fixtures.FakeLogger(
            'cell0_rebuild', level=logging.DEBUG, format='%(message)s'))

    def lines(self, text):
        """Return the lines that a text begins, when there are any."""
        def found():
            return [line for line in self.logged.output.splitlines()
                    if line.startswith(text)]
        self._wait_for_assert(lambda: self.assertNotEqual([], found()))
        return found()

    def test_the_conductor_tells_how_long_each_phase_took(self):
        server = self.bury()
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        [line] = self.lines('The rebuild has ended: ')
        self.assertRegex(line, 'ended: ' + phases(
            'queue', 'scheduling', 'rows', 'hand-over', 'finish'))

    def test_nova_api_tells_how_long_the_request_took(self):
        server = self.bury()
        self.rebuild(server)
        [line] = self.lines('A nova-conductor has taken the rebuild: ')
        self.assertRegex(
            line, 'rebuild: ' + phases('checks', 'probe', 'move'))
        self.buried_again(server)

    def test_two_rebuilds_tell_their_own_phases(self):
        server = self.bury()
        for _ in range(2):
            self.rebuild(server)
            self.buried_again(server)
        self._wait_for_assert(lambda: self.assertEqual(
            2, len(self.lines('The rebuild has ended: '))))
        for line in self.lines('The rebuild has ended: '):
            self.assertRegex(
                line, 'ended: ' + phases('queue', 'burial', 'finish'))


class NotificationsTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.flags(notification_format='both', group='notifications')
        self.sent = self.useFixture(nova_fixtures.NotificationFixture(self))

    def types(self, last):
        """Return the types of all that were sent of servers since.

        :param last: of the versioned one that comes last, once the server
            can be seen to be done.
        """
        self.sent.wait_for_versioned_notifications(last)
        versioned = [message['event_type']
                     for message in self.sent.versioned_notifications]
        legacy = [message.event_type for message in self.sent.notifications]
        self.sent.reset()
        # A service sends one each time that it reports itself.
        return ([name for name in versioned
                 if not name.startswith('service.')], legacy)

    def test_a_rebuild_sends_what_a_create_sends(self):
        self._start_compute('host1')
        self.sent.reset()
        created = self._create_server(networks='none')
        expected = self.types('instance.create.end')
        self._delete_server(created)
        self.reserve_vcpus('host1', 10)
        server = self.bury()
        self.reserve_vcpus('host1', 0)
        self.types('compute_task.build_instances.error')
        self.rebuild(server)
        self.active(server)
        self.assertEqual(expected, self.types('instance.create.end'))

    def test_a_failed_rebuild_sends_what_a_failed_create_sends(self):
        self.sent.reset()
        server = self.bury()
        expected = self.types('compute_task.build_instances.error')
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual(
            expected, self.types('compute_task.build_instances.error'))
