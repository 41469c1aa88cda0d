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

"""Count what a step costs: SQL statements and RPC messages."""

import collections
import contextlib

import fixtures
from oslo_messaging import transport
import sqlalchemy as sa

# What timers of the services do, whatever the test does.
_BY_THEMSELVES = ('BEGIN', 'UPDATE services', 'FROM services')


class CountingFixture(fixtures.Fixture):
    """Counts statements by their text and messages by their method.

    Use it with casts as calls, so that a step ends when all of it is done.

    :ivar steps: what each step cost, as {name: Counter}.
    """

    def _setUp(self):
        self.steps = {}
        self._now = None
        sa.event.listen(
            sa.engine.Engine, 'before_cursor_execute', self._statement)
        self.addCleanup(
            sa.event.remove, sa.engine.Engine, 'before_cursor_execute',
            self._statement)
        send = transport.Transport._send

        def counted(transport, target, context, message, **kwargs):
            self._count('rpc ' + message['method'])
            return send(transport, target, context, message, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_messaging.transport.Transport._send', counted))

    @contextlib.contextmanager
    def step(self, name):
        """Count what is done inside under a name."""
        self._now = self.steps.setdefault(name, collections.Counter())
        try:
            yield self._now
        finally:
            self._now = None

    def _statement(self, connection, cursor, statement, *args):
        text = ' '.join(statement.split())
        if not any(part in text for part in _BY_THEMSELVES):
            self._count('sql ' + text)

    def _count(self, what):
        if self._now is not None:
            self._now[what] += 1
