# SPDX-License-Identifier: Apache-2.0

"""The API database is away for a moment while a rebuild goes on."""

import time

from oslo_db import exception as db_exc

from cell0_rebuild.move import api_db
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering

# Shorter than a conductor waits for it, and longer than a few tries.
_AWAY = 2.0


class OutageTest(races_base.RaceTestCase):

    def away(self, *args, **kwargs):
        """Have all transactions of the API database fail for a while."""
        until = time.monotonic() + _AWAY
        self.failed = 0
        for name in ('refresh', 'to_cell0', 'entry', 'is_current'):
            self.useFixture(base.fixtures.MonkeyPatch(
                f'cell0_rebuild.move.api_db.{name}',
                self.failing(name, until)))
        raise db_exc.DBConnectionError()

    def failing(self, name, until):
        whole = getattr(api_db, name)

        def fail(*args, **kwargs):
            if time.monotonic() < until:
                self.failed += 1
                raise db_exc.DBConnectionError()
            return whole(*args, **kwargs)
        return fail

    def test_what_fails_by_it_is_buried_again_when_it_is_back(self):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, after=self.away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['api']['build_requests'])
        self.assertGreater(self.failed, 1)
