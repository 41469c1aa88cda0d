# SPDX-License-Identifier: Apache-2.0

import fixtures
import testtools

from cell0_rebuild.wait.demand import kinds
from tests.unit.wait import samples

MANY = 1500
# Of one shape.
SECONDS = 0.03
BETWEEN = 30.0


class KnownKindsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.time = 0.0
        self.found = []
        self.uuids = [f'{number:036}' for number in range(MANY)]
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.demand.spec_key.find',
            lambda context, uuids: {uuid: uuid.encode() for uuid in uuids}))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.demand.kinds.of', self.find))
        self.kinds = kinds.Kinds(None, lambda: self.time)

    def find(self, context, uuid):
        """Find a kind, slowly."""
        self.found.append(uuid)
        self.time += SECONDS
        return samples.kind(uuid)

    def sweep(self, uuids):
        """Return the servers whose kinds a sweep knows."""
        self.kinds.keep(uuids)
        known = self.kinds.of(uuids)
        self.time += BETWEEN
        return set(known)

    def test_nobody_is_forgotten_where_all_ask_for_something_else(self):
        sweeps = 0
        while (known := self.sweep(self.uuids)) != set(self.uuids):
            sweeps += 1
            self.assertLess(sweeps, 2 * MANY * SECONDS / 5)
        self.assertEqual(MANY, len(known))

    def test_what_is_known_stays_known_while_it_is_found_again(self):
        while len(self.sweep(self.uuids)) < MANY:
            pass
        for _ in range(30):
            self.assertEqual(MANY, len(self.sweep(self.uuids)))
        times = [self.found.count(uuid) for uuid in self.uuids[::100]]
        self.assertGreater(min(times), 1)
        self.assertLessEqual(max(times), min(times) + 1)

    def test_a_look_up_that_takes_all_the_time_leaves_some_for_shapes(self):
        def find(context, uuids):
            self.time += 6
            return dict.fromkeys(uuids, b'alike')
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.demand.spec_key.find', find))
        self.assertIn(self.uuids[0], self.sweep(self.uuids))

    def test_who_comes_first_is_found_first(self):
        self.sweep(self.uuids)
        last = self.uuids[-1]
        self.assertIn(last, self.sweep([last, *self.uuids[:-1]]))

    def test_what_is_too_old_is_found_again(self):
        uuids = self.uuids[:1]
        for _ in range(12):
            self.sweep(uuids)
        self.assertEqual(uuids * 2, self.found)

    def test_who_no_longer_waits_is_forgotten(self):
        self.sweep(self.uuids[:1])
        self.sweep([])
        self.sweep(self.uuids[:1])
        self.assertEqual(2, len(self.found))
