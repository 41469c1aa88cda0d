# SPDX-License-Identifier: Apache-2.0

"""SQL statements that are compiled once for all tests of a process."""

import fixtures
import sqlalchemy

_dialects, _caches = {}, {}


class CompiledStatements(fixtures.Fixture):
    """Lets all databases of one kind share what SQLAlchemy has compiled.

    Each test has databases of its own, and to compile the same statements for
    each took more than a quarter of a test. What is compiled belongs to a
    dialect, so that is shared as well.
    """

    def _setUp(self):
        create = sqlalchemy.create_engine

        def create_engine(*args, **kwargs):
            engine = create(*args, **kwargs)
            # oslo.db connects with each, so that the first has what it needs.
            kind = type(engine.dialect)
            engine.dialect = _dialects.setdefault(kind, engine.dialect)
            engine._compiled_cache = _caches.setdefault(
                kind, engine._compiled_cache)
            # Its own limit is meant for one engine.
            engine._compiled_cache.capacity = 5000
            return engine
        self.useFixture(fixtures.MonkeyPatch(
            'sqlalchemy.create_engine', create_engine))
