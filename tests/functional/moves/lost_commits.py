# SPDX-License-Identifier: Apache-2.0

"""A database commits, and then its connection is lost."""

import fixtures
from oslo_db import exception as db_exc
from sqlalchemy.engine import base as sa_base

from tests.functional.support import databases


class LostCommit(fixtures.Fixture):
    """Loses the answer to one of the next commits in a database."""

    def __init__(self, database, number=1):
        self._database = database
        self._left = number

    def _check(self):
        if self._left > 0:
            raise AssertionError(f'{self._database} has made no such commit')

    def _setUp(self):
        # Those of older releases have all the same URL.
        names = {engine.pool: name
                 for name, engine in databases.engines().items()}
        commit = sa_base.Connection._commit_impl

        def commit_and_lose(connection):
            commit(connection)
            if names.get(connection.engine.pool) == self._database:
                self._left -= 1
                if not self._left:
                    raise db_exc.DBConnectionError()
        self.addCleanup(self._check)
        self.useFixture(fixtures.MonkeyPatch(
            'sqlalchemy.engine.base.Connection._commit_impl',
            commit_and_lose))
