# SPDX-License-Identifier: Apache-2.0

"""What keeps a server waiting, whether there is room or not."""

import datetime
import types

import testtools

from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait import values

NOW = datetime.datetime(2026, 11, 1, 12)
HOUR = datetime.timedelta(hours=1)


def code(pause=False, **fields):
    """Return why a server is not tried, or None."""
    server = values.Waiting(**{
        'uuid': 'a', 'project_id': 'p', 'created_at': NOW - HOUR,
        'deadline': NOW + HOUR, 'asked': True, **fields})
    found = candidates.why_held(server, types.SimpleNamespace(
        pause=pause, backoff=HOUR, backoff_max=HOUR), NOW)
    return found and found.code


class IdleTest(testtools.TestCase):

    def test_nothing_keeps_an_ordinary_server(self):
        self.assertIsNone(code())

    def test_its_time_is_over_at_the_deadline(self):
        self.assertEqual(values.Code.EXPIRED, code(deadline=NOW))

    def test_an_operator_or_a_lock_holds_it(self):
        self.assertEqual(values.Code.HELD, code(held=True, locked=True))
        self.assertEqual(values.Code.LOCKED, code(locked=True))

    def test_the_site_can_pause_all(self):
        self.assertEqual(values.Code.PAUSED, code(pause=True))

    def test_it_rests_after_a_rebuild_that_failed(self):
        self.assertEqual(
            values.Code.BACKOFF, code(failures=1, tried_at=NOW))
        self.assertIsNone(code(failures=1, tried_at=NOW - 2 * HOUR))

    def test_a_rebuild_of_the_future_is_of_another_clock(self):
        self.assertIsNone(code(failures=1, tried_at=NOW + 6 * HOUR))

    def test_what_takes_longest_comes_first(self):
        self.assertEqual(values.Code.EXPIRED, code(
            pause=True, deadline=NOW, held=True, failures=1, tried_at=NOW))
