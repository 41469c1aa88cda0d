# SPDX-License-Identifier: Apache-2.0

"""The API database is away for a moment while a rebuild goes on."""

import threading
import time

from oslo_db import exception as db_exc
import sqlalchemy as sa

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering

# Shorter than a conductor waits for it, and longer than a few tries.
_AWAY = 2.0


class OutageTest(races_base.RaceTestCase):

    def setUp(self):
        super().setUp()
        self.failed = []
        # It also asks nova-api, and looks into the databases.
        self.own = threading.get_ident()

    def away(self, *args, **kwargs):
        """Have no transaction of the conductor begin for a while."""
        until, engine = time.monotonic() + _AWAY, databases.engines()['api']

        def be_away(connection):
            if (time.monotonic() < until
                    and threading.get_ident() != self.own):
                self.failed.append(connection)
                raise db_exc.DBConnectionError()
        sa.event.listen(engine, 'begin', be_away)
        self.addCleanup(sa.event.remove, engine, 'begin', be_away)
        raise db_exc.DBConnectionError()

    def test_what_fails_by_it_is_buried_again_when_it_is_back(self):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, after=self.away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['api']['build_requests'])
        self.assertGreater(len(self.failed), 1)
