# SPDX-License-Identifier: Apache-2.0

"""Nova's databases on a MariaDB, and transactions that meet there.

One server and one schema serve all tests of a module.
"""

from concurrent import futures
import pathlib
import unittest

import fixtures
from nova.conf import CONF
from nova.db.api import api as api_db_api
from nova.db.main import api as main_db_api
from nova.db import migration
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import test_fixtures
import sqlalchemy

from tests.integration import databases
from tests.integration import processes

# The databases of Nova, by the name of their options.
NAMES = {'api': ('api_database', api_db_api),
         'main': ('database', main_db_api)}

_server = None


def start_server():
    """Start a MariaDB for all tests of a module, from its ``setUpModule``."""
    global _server
    folder = fixtures.TempDir()
    unittest.addModuleCleanup(folder.cleanUp)
    folder.setUp()
    programs = processes.Processes(pathlib.Path(folder.path))
    unittest.addModuleCleanup(programs.end)
    _server = databases.MariaDB(programs, folder.path)
    unittest.addModuleCleanup(_server.cleanUp)
    _server.setUp()
    _server.create(*NAMES)
    with Databases():
        for name in NAMES:
            migration.db_sync(database=name)


class Databases(fixtures.Fixture):
    """Has this process use the databases of the server."""

    def __init__(self, snapshot_isolation=False):
        """:param snapshot_isolation: as MariaDB has it by itself from 11.6 on:
            a transaction that locks a row which was changed since it first
            read anything fails.
        """
        super().__init__()
        self._isolation = 'ON' if snapshot_isolation else 'OFF'

    def _setUp(self):
        with _server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                f'SET GLOBAL innodb_snapshot_isolation = {self._isolation}')
        for name, (group, facade) in NAMES.items():
            self.useFixture(test_fixtures.ReplaceEngineFacadeFixture(
                facade.context_manager, enginefacade.transaction_context()))
            CONF.set_override('connection', _server.url(name), group)
            self.addCleanup(CONF.clear_override, 'connection', group)
            facade.configure(CONF)
            self.addCleanup(facade.get_engine().dispose)


def meet(engine, statement, first, second):
    """Let one transaction meet another one at a statement.

    :param engine: of the database in which they meet.
    :param statement: how the statement begins before which ``second`` runs,
        until it has ended or waits for a lock that ``first`` has.
    :param first: a function that sends the statement.
    :param second: a function; its error is raised.
    """
    with futures.ThreadPoolExecutor(1) as executor:
        met = []

        def wait(connection, cursor, text, *args):
            if text.startswith(statement) and not met:
                met.append(executor.submit(second))
                processes.poll(
                    lambda: met[0].done() or _is_waiting(),
                    'that the other one ended or waits')

        sqlalchemy.event.listen(engine, 'before_cursor_execute', wait)
        try:
            first()
        finally:
            sqlalchemy.event.remove(engine, 'before_cursor_execute', wait)
        [other] = met
        return other.result(60)


def _is_waiting():
    with _server.connect() as connection, connection.cursor() as cursor:
        cursor.execute('SELECT COUNT(*) FROM information_schema.innodb_trx '
                       "WHERE trx_state = 'LOCK WAIT'")
        [count] = cursor.fetchone()
        return bool(count)
