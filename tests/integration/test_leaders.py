# SPDX-License-Identifier: Apache-2.0

"""One of several waiting services leads, by a lock in a real MariaDB.

The driver of tooz does not notice that the server has freed the lock.
"""

import os
import pathlib
import signal

import fixtures
import testtools

from cell0_rebuild.wait import leader
from tests.integration import databases
from tests.integration import processes


class LeadersTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        folder = self.useFixture(fixtures.TempDir()).path
        self.programs = processes.Processes(pathlib.Path(folder))
        self.addCleanup(self.programs.end)
        self.database = self.useFixture(
            databases.MariaDB(self.programs, folder))
        self.database.create('leaders')
        self.now = 0
        self.first, self.second = (self.a_leader() for _ in range(2))

    def a_leader(self):
        """Return one that ends with the test."""
        one = leader.Leader(
            f'mysql://root@127.0.0.1:{self.database.port}/leaders',
            lambda: self.now)
        self.addCleanup(one.end)
        return one

    def lead(self):
        """Tell of both whether they lead."""
        return [self.first.leads(), self.second.leads()]

    def kill_connection(self):
        """End the connection that has the lock, as an operator may."""
        with self.database.connect() as connection, \
                connection.cursor() as cursor:
            cursor.execute('SELECT IS_USED_LOCK(%s)', [leader._LOCK])
            cursor.execute('KILL %s', cursor.fetchone())

    def test_a_leader_that_lost_its_connection_stands_by_soon(self):
        self.assertEqual([True, False], self.lead())
        self.kill_connection()
        processes.poll(self.second.leads, 'that the other one leads')
        self.now = 30
        self.assertEqual([False, True], self.lead())

    def test_a_leader_that_lost_its_connection_leads_on_if_alone(self):
        self.assertTrue(self.first.leads())
        self.kill_connection()
        self.now = 30
        self.assertEqual([True, False], self.lead())

    def test_a_leader_stays_the_leader(self):
        for self.now in range(0, 300, 30):
            self.assertEqual([True, False], self.lead())

    def test_a_leader_ends_though_the_server_is_silent(self):
        self.useFixture(fixtures.Timeout(60, gentle=True))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.leader._PATIENCE', 1))
        self.assertTrue(self.first.leads())
        [server] = self.programs.groups()
        os.kill(server, signal.SIGSTOP)
        self.first.end()
        os.kill(server, signal.SIGCONT)
        processes.poll(self.second.leads, 'that the other one leads')
