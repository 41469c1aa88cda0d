#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
