# SPDX-License-Identifier: Apache-2.0

"""Fewer connections to the databases of a test."""

import fixtures
import sqlalchemy as sa


class KeptConnections(fixtures.Fixture):
    """Keeps connections to SQLite open.

    Else each transaction opens one and reads the schema again: a sixth of the
    processor time of these tests.
    """

    def _setUp(self):
        class Kept(sa.pool.QueuePool):
            def __init__(self, creator, **kwargs):
                super().__init__(creator, **{**kwargs, 'max_overflow': -1})
        self.useFixture(fixtures.MonkeyPatch('sqlalchemy.pool.NullPool', Kept))
