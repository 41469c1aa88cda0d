# SPDX-License-Identifier: Apache-2.0

"""A conductor whose API database is behind that of nova-api.

Of several database servers that copy from each other, one that lags has not
seen yet that a server was moved out of cell0.
"""

import sqlite3

import fixtures
from nova.db.api import api as api_db_api
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import test_fixtures

from cell0_rebuild.conductor import endpoint
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering


class Messages(fixtures.Fixture):
    """Has something done for the messages that a conductor gets."""

    def __init__(self, receive):
        """:param receive: is called with what receives one really."""
        self.answers = []
        self._receive = receive

    def _setUp(self):
        original = endpoint.RebuildEndpoint.rebuild_instance_in_cell0

        def received(this, *args, **kwargs):
            answer = self._receive(lambda: original(this, *args, **kwargs))
            self.answers.append(answer)
            return answer
        self.useFixture(fixtures.MonkeyPatch(
            f'{base.name_of(endpoint.RebuildEndpoint)}.'
            'rebuild_instance_in_cell0', received))


class BehindTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.stub_out(recovering.REQUEST_PAUSES, (0, 0))

    def be_behind(self, times):
        """Have the conductor see for some messages what there was before."""
        old = self._copy()
        left = list(range(times))

        def receive(really):
            if not left:
                return really()
            left.pop()
            with test_fixtures.ReplaceEngineFacadeFixture(
                    api_db_api.context_manager, old):
                return really()
        return self.useFixture(Messages(receive))

    def _copy(self):
        """Return a copy of the API database as it is."""
        path = self.useFixture(fixtures.TempDir()).join('old')
        source = databases.engines()['api'].raw_connection()
        target = sqlite3.connect(path)
        source.driver_connection.backup(target)
        target.close()
        source.close()
        old = enginefacade.transaction_context()
        old.configure(connection=f'sqlite:///{path}')
        self.addCleanup(old.writer.get_engine().dispose)
        return old

    def test_a_conductor_that_catches_up_is_asked_again(self):
        messages = self.be_behind(times=2)
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual([False, False, True], messages.answers)

    def test_a_rebuild_that_no_conductor_sees_is_409_and_taken_back(self):
        messages = self.be_behind(times=99)
        before = databases.dump()
        error = self.assert_refused(409, self.server)
        self.assertIn('could not be handed to a nova-conductor', error)
        self.assertEqual([], [
            line for line in databases.differences(before, databases.dump())
            if '.updated_at: ' not in line])
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([False] * 3, messages.answers)

    def test_a_message_that_comes_twice_is_no_failure(self):
        first = []

        def receive_twice(really):
            first.append(really())
            return really()
        messages = self.useFixture(Messages(receive_twice))
        self.rebuild(self.server)
        self.active(self.server)
        self.assertEqual(([True], [False]), (first, messages.answers))
        self.assertEqual(
            ['create', 'rebuild'],
            [action for action, _ in self.actions(self.server)])
