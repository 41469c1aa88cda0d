# SPDX-License-Identifier: Apache-2.0

import copy
import types
import unittest

import hypothesis
from hypothesis import strategies
from nova import objects
from oslo_serialization import jsonutils

from cell0_rebuild.move import late_changes


class WatchedTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.instance = objects.Instance(system_metadata={}, **{
            field: None for field in late_changes.FIELDS
            if field not in ('locked', 'auto_disk_config')},
            locked=False, auto_disk_config=False)

    def test_it_is_the_same_when_json_has_carried_it(self):
        self.instance.access_ip_v4 = '192.0.2.7'
        self.instance.access_ip_v6 = '2001:db8::7'
        found = late_changes.watched(self.instance)
        self.assertEqual(found, jsonutils.loads(jsonutils.dumps(found)))
        self.assertEqual('192.0.2.7', found['access_ip_v4'])

    def test_changes_that_are_set_make_another_instance_alike(self):
        other = self.instance.obj_clone()
        self.instance.access_ip_v6 = '2001:db8::7'
        self.instance.auto_disk_config = True
        before, after = late_changes.watched(
            other), late_changes.watched(self.instance)
        late_changes.update(other, late_changes.changes(before, after))
        self.assertEqual(after, late_changes.watched(other))

    def test_what_an_older_version_did_not_watch_has_not_changed(self):
        before = late_changes.watched(self.instance)
        del before['access_ip_v4']
        self.instance.access_ip_v4 = '192.0.2.7'
        self.instance.hostname = 'new'
        self.assertEqual({'hostname': 'new'}, late_changes.changes(
            before, late_changes.watched(self.instance)))

    def test_what_a_newer_version_watches_more_is_left_alone(self):
        before = dict(late_changes.watched(self.instance), newer='value')
        self.assertEqual(
            {},
            late_changes.changes(before, late_changes.watched(self.instance)))
        instance = types.SimpleNamespace()
        late_changes.update(instance, {'newer': 'value', 'hostname': 'new'})
        self.assertEqual({'hostname': 'new'}, vars(instance))


class FlagsTest(unittest.TestCase):
    """Each volume has its own, under its UUID."""

    BEFORE = {'flags': {'one': False, 'two': False}, 'name': 'old'}

    def test_those_that_differ_are_changes(self):
        self.assertEqual({'flags': {'two': True}}, late_changes.changes(
            self.BEFORE, {'flags': {'one': False, 'two': True, 'new': True},
                          'name': 'old'}))

    def test_the_same_are_no_change(self):
        self.assertEqual({}, late_changes.changes(self.BEFORE, self.BEFORE))

    def test_those_that_were_changed_since_stay(self):
        self.assertEqual(
            {'flags': {'one': True}},
            late_changes.late(
                self.BEFORE, {'flags': {'one': True, 'two': None}},
                self.BEFORE, {'flags': {'one': False, 'two': True}}))


class LateTest(unittest.TestCase):

    def late(self, newer):
        return late_changes.late(
            {'name': 'old', 'tags': []}, {'name': 'late', 'tags': ['late']},
            {'name': 'asked'}, newer)

    def test_what_is_as_it_was_gets_it(self):
        self.assertEqual({'name': 'late', 'tags': ['late']},
                         self.late({'name': 'asked', 'tags': ['other']}))

    def test_what_was_changed_since_stays(self):
        self.assertEqual({'tags': ['late']}, self.late({'name': 'newer'}))

    def test_what_is_not_told_counts_as_it_was(self):
        self.assertEqual(
            {'name': 'late', 'tags': ['late']}, self.late({}))


class LockTest(unittest.TestCase):
    """Who locks or unlocks a server sets three values."""

    LOCKED = {'locked': True, 'locked_by': 'owner', 'locked_reason': 'one'}
    FREE = {'locked': False, 'locked_by': None, 'locked_reason': None}
    AGAIN = {**LOCKED, 'locked_reason': 'two'}

    def test_it_changes_as_a_whole(self):
        self.assertEqual(
            self.AGAIN, late_changes.changes(self.LOCKED, self.AGAIN))
        self.assertEqual({}, late_changes.changes(self.FREE, self.FREE))

    def test_of_two_the_newer_row_has_its_own(self):
        self.assertEqual({}, late_changes.late(
            self.LOCKED, self.FREE, self.LOCKED, self.AGAIN))

    def test_a_late_one_is_brought_as_a_whole(self):
        for late in (self.FREE, self.AGAIN):
            self.assertEqual(late, late_changes.late(
                self.LOCKED, late, self.LOCKED, self.LOCKED))


# How an attempt may go. Nova creates a row before it is handed over.
WAYS = (['check', 'ask', 'create', 'hand_over', 'finish'],
        ['check', 'ask', 'end_build_request'],
        ['check', 'ask', 'create', 'end_build_request'],
        ['check', 'ask', 'create', 'hand_over', 'keep', 'remap', 'remove'])
# What a build request tells, and what only rows do.
FIELDS, OF_ROWS = ('name', 'hostname', 'locked'), ('tags', 'one', 'two')


class Rows:
    """The rows of a server that moves, and what its owner writes to them.

    What a move does is as in :mod:`move`, and nothing else is decided here.
    """

    def __init__(self, asks, is_accepted):
        self.rows = {'cell0': _row(0)}
        self.place = 'cell0'
        self.asks, self.is_accepted = asks, is_accepted
        self.read, self.written = {}, {}

    def owner_reads(self, who):
        self.read[who] = self.place

    def owner_writes(self, who, field, value):
        where = self.read[who]
        row = self.rows.get(where)
        # Nova changes no tags of a server in BUILD.
        if row is None or (where, field) == ('cell', 'tags') or (
                field in OF_ROWS and where == 'build request'):
            return
        (row[late_changes._FLAGS] if field in ('one', 'two') else row)[
            field] = value
        if field == 'locked':
            # Some locks are by the same, and have only another reason.
            row['locked_by'] = value // 10 % 2
        self.written.setdefault(field, []).append(value)

    def check(self):
        self.read_at_first = copy.deepcopy(self.rows['cell0'])
        self.baseline = copy.deepcopy(self.read_at_first)

    def ask(self):
        now = _instance(self.rows['cell0'])
        instance = {**_instance(self.read_at_first), **self.asks}
        instance.update(late_changes.late(
            self.baseline, now, self.baseline, instance))
        self.baseline.update(now)
        self.asked = dict(instance)
        self.rows['build request'], self.place = instance, 'build request'

    def create(self):
        self.created = {**copy.deepcopy(self.read_at_first),
                        **self.rows['build request']}

    def hand_over(self):
        now, row = copy.deepcopy(self.rows['cell0']), self.created
        last = self.rows.pop('build request')
        row.update(last)
        _apply(row, late_changes.late(self.baseline, now, self.asked, last))
        self.baseline = now
        self.asked.update(late_changes.flags_of(copy.deepcopy(now)))
        self.rows['cell'], self.place = row, 'cell'

    def finish(self):
        _apply(self.rows['cell'], late_changes.late(
            self.baseline, self.rows.pop('cell0'), self.asked,
            self.rows['cell']))

    def end_build_request(self):
        self._keep(self.rows.pop('build request'))
        self.place = 'cell0'

    def keep(self):
        self._keep(self.rows['cell'])
        self.kept = copy.deepcopy(self.rows['cell'])

    def remap(self):
        self.place = 'cell0'

    def remove(self):
        _apply(self.rows['cell0'], late_changes.late(
            self.kept, self.rows.pop('cell'), self.kept, self.rows['cell0']))

    def _keep(self, newer):
        if self.is_accepted:
            self.rows['cell0'].update(self.asks)
        _apply(self.rows['cell0'], late_changes.changes(self.asked, newer))

    def shown(self):
        """Return all that is shown to the owner at last."""
        row = dict(self.rows[self.place])
        return {**row, **row.pop(late_changes._FLAGS)}


def _row(value):
    return {**dict.fromkeys((*FIELDS, 'locked_by', 'tags'), value),
            late_changes._FLAGS: {'one': value, 'two': value}}


def _instance(row):
    return {field: row[field] for field in (*FIELDS, 'locked_by')}


def _apply(row, changed):
    changed = dict(changed)
    row[late_changes._FLAGS].update(changed.pop(late_changes._FLAGS, {}))
    row.update(changed)


@strategies.composite
def stories(draw):
    """Return a story: a move, and two who write, each step in its turn."""
    way = draw(strategies.sampled_from(WAYS))
    # Few, so that they meet.
    fields = strategies.sampled_from(draw(strategies.lists(
        strategies.sampled_from((*FIELDS, *OF_ROWS)), min_size=1, max_size=2)))
    queues = [[(step,) for step in way]]
    for who in (1, 2):
        queues.append([])
        for number in range(draw(strategies.integers(1, 2))):
            queues[-1] += [
                ('owner_reads', who),
                ('owner_writes', who, draw(fields), 10 * who + number)]
    steps = []
    while any(queues):
        steps.append(draw(strategies.sampled_from(
            [queue for queue in queues if queue])).pop(0))
    # No rebuild locks a server.
    asks = draw(strategies.sets(strategies.sampled_from(FIELDS[:2])))
    # What is handed over was accepted before.
    is_accepted = 'hand_over' in way or draw(strategies.booleans())
    return Rows(dict.fromkeys(asks, 100), is_accepted), steps


class EveryWriteTest(unittest.TestCase):

    @hypothesis.given(stories())
    @hypothesis.settings(max_examples=1000, derandomize=True, database=None,
                         deadline=None)
    def test_every_accepted_write_stays_unless_another_was_accepted(
            self, story):
        rows, steps = story
        for name, *args in steps:
            getattr(rows, name)(*args)
        shown = rows.shown()
        if 'locked' in rows.written:
            self.assertEqual(
                shown['locked'] // 10 % 2, shown['locked_by'], steps)
        for field, values in rows.written.items():
            if field in rows.asks:
                values = [*values, rows.asks[field]]
            self.assertIn(shown[field], values, (field, steps))
