# SPDX-License-Identifier: Apache-2.0

import fixtures
import testtools

from cell0_rebuild.wait.demand import kinds
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import samples

MANY = 1500
# Of one shape.
SECONDS = 0.03
BETWEEN = 30.0


class KnownKindsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.time, self.took = 0.0, 0.0
        self.projects, self.unknown = {}, set()
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
        return texts.UNKNOWN_DEMANDS if uuid in self.unknown else (
            samples.kind(uuid))

    def sweep(self, uuids):
        """Return the servers that have kinds, as far as a sweep knows."""
        self.kinds.keep(uuids)
        begun = self.time
        known = self.kinds.of(uuids, lambda uuid: self.projects.get(uuid, 'a'))
        self.took = self.time - begun
        self.time += BETWEEN
        return {uuid for uuid, kind in known.items()
                if not isinstance(kind, values.Reason)}

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

    def test_a_tenth_of_the_time_is_for_what_is_known(self):
        while len(self.sweep(self.uuids)) < MANY:
            pass
        begun, found = self.time, len(self.found)
        while self.time < begun + 3600:
            self.sweep(self.uuids)
        took = (len(self.found) - found) * SECONDS
        self.assertLess(300, took)
        self.assertLess(took, 400)

    def test_one_of_another_project_is_found_again_soon(self):
        while len(self.sweep(self.uuids)) < MANY:
            pass
        other = 'other'
        self.projects[other], self.unknown = other, {other}
        self.projects.update(
            (uuid, f'many-{number % 3}')
            for number, uuid in enumerate(self.uuids))
        # In turns of projects.
        uuids = [self.uuids[0], other, *self.uuids[1:]]
        self.assertNotIn(other, self.sweep(uuids))
        begun, self.unknown = self.time, set()
        while other not in self.sweep(uuids):
            self.assertLess(self.time - begun, 400)

    def test_what_is_known_is_not_lost_while_it_cannot_be_found(self):
        uuids = self.uuids[:1]
        self.sweep(uuids)
        self.unknown = set(uuids)
        for _ in range(12):
            self.assertEqual(set(uuids), self.sweep(uuids))
        self.assertEqual(2, len(self.found))

    def test_what_is_new_takes_a_fifth_of_the_time(self):
        self.sweep(self.uuids)
        self.time -= BETWEEN
        for _ in range(10):
            self.sweep(self.uuids)
            self.time -= BETWEEN - 4
        self.assertLess(self.took, 1.5)

    def look_up_slowly(self):
        """Have each look-up take six seconds; return what is looked up."""
        pages = []

        def find(context, uuids):
            self.time += 6
            pages.append(uuids)
            return {uuid: uuid.encode() for uuid in uuids}
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.demand.spec_key.find', find))
        return pages

    def test_a_look_up_that_takes_all_the_time_leaves_some_for_shapes(self):
        pages = self.look_up_slowly()
        self.assertIn(self.uuids[0], self.sweep(self.uuids))
        self.assertEqual(1, len(pages))

    def test_so_does_one_of_what_is_known(self):
        while len(self.sweep(self.uuids)) < MANY:
            pass
        pages, found = self.look_up_slowly(), len(self.found)
        self.time += 400
        self.sweep(self.uuids)
        self.assertEqual(1, len(pages))
        self.assertGreater(len(self.found), found)

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
