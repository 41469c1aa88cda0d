# SPDX-License-Identifier: Apache-2.0

"""Who waits for whom; nothing of Nova runs."""

import threading

import testtools

from tests.races import turns


class TurnsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.lock = threading.Lock()

    def writer(self, name):
        """Return an actor that locks a database and stops before the end."""
        def write():
            with actor.locking('cell1', self.lock):
                actor.cross('call', 'anything', str)
            return f'{name} has written'
        actor = turns.Actor(name, write)
        return actor

    def test_who_waits_for_a_lock_of_the_other_lets_it_go_on(self):
        one, other = self.writer('one'), self.writer('other')
        self.assertEqual(turns.STOPPED, one.go(2))
        self.assertEqual(turns.BLOCKED, other.go())
        self.assertEqual(turns.DONE, one.go())
        self.assertEqual(turns.DONE, other.go())
        self.assertEqual('other has written', other.answer)

    def test_whose_service_waits_for_a_lock_of_the_other_lets_it_go_on(self):
        one = self.writer('one')
        asking = turns.Actor('asking', lambda: asking.cross(
            'call', 'external_instance_event', lambda: 'answered'))
        self.assertEqual(turns.STOPPED, one.go(2))
        self.assertEqual(turns.BLOCKED, asking.go())
        self.assertEqual(turns.DONE, one.go())
        self.assertEqual(turns.DONE, asking.go())
        self.assertEqual('answered', asking.answer)

    def test_who_waits_for_a_lock_of_nobody_else_in_the_race_does_wait(self):
        self.lock.acquire()
        threading.Timer(0.1, self.lock.release).start()
        actor = self.writer('one')
        self.assertEqual(turns.DONE, actor.go())
        self.assertEqual('one has written', actor.answer)
