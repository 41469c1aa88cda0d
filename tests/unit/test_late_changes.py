# SPDX-License-Identifier: Apache-2.0


import types
import unittest

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

    def test_those_that_others_have_changed_are_overtaken(self):
        self.assertEqual(
            {'flags': {'one': True}},
            late_changes.not_overtaken(
                {'flags': {'one': True, 'two': None}}, self.BEFORE,
                {'flags': {'one': False, 'two': True}}))


class OvertakenTest(unittest.TestCase):

    def left(self, now):
        return late_changes.not_overtaken(
            {'name': 'late', 'tags': ['late']}, {'name': 'old'}, now)

    def test_what_is_as_it_was_is_not(self):
        self.assertEqual({'name': 'late', 'tags': ['late']},
                         self.left({'name': 'old', 'tags': ['other']}))

    def test_what_was_changed_meanwhile_is(self):
        self.assertEqual({'tags': ['late']}, self.left({'name': 'newer'}))

    def test_what_was_brought_before_is_not(self):
        self.assertEqual({'name': 'late', 'tags': ['late']},
                         self.left({'name': 'late'}))

    def test_what_is_gone_is(self):
        self.assertEqual({'tags': ['late']}, self.left({}))
