# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from nova import objects
from oslo_serialization import jsonutils
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.move import journal
from tests.unit import stored_forms


class MarkTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.instance = objects.Instance(system_metadata={'other': 'kept'})

    def test_it_tells_the_attempt(self):
        entry = journal.Entry.new(changed=['display_name'])
        journal.put_mark(self.instance, entry)
        self.assertTrue(journal.is_marked(self.instance))
        self.assertEqual(
            entry, journal.mark_in(self.instance.obj_to_primitive()))

    def test_one_that_is_damaged_is_unreadable(self):
        for text in ('{', '7', '{"version": "2.0"}'):
            self.instance.system_metadata = {journal.MARK: text}
            self.assertRaises(exceptions.Unreadable, journal.mark_in,
                              self.instance.obj_to_primitive())

    def test_an_instance_without_one_has_none(self):
        for instance in (self.instance, objects.Instance()):
            self.assertFalse(journal.is_marked(instance))
            self.assertIsNone(journal.mark_in(instance.obj_to_primitive()))

    def test_it_is_taken_off_alone(self):
        journal.put_mark(self.instance, journal.Entry.new())
        journal.take_off(self.instance)
        self.assertEqual({'other': 'kept'}, self.instance.system_metadata)


@ddt.ddt
class ReadTest(testtools.TestCase):

    def assert_unreadable(self, values):
        """Check that it is refused and return the reason."""
        return self.assertRaises(
            exceptions.Unreadable, journal.read, values).reason

    def test_what_is_read_is_stored_again(self):
        self.assertEqual(
            stored_forms.attempted(),
            journal.read(stored_forms.attempted()).to_primitive())

    def test_one_is_taken_by_whom_it_does_not_name_as_its_attempt(self):
        entry = journal.Entry.new()
        for is_taken in (False, True):
            stored = jsonutils.loads(jsonutils.dumps(entry.to_primitive()))
            self.assertIs(is_taken, journal.read(stored).is_taken)
            entry.holder = journal.new_id()

    def test_a_new_one_has_every_value_and_nobody_holds_it(self):
        entry = journal.Entry.new()
        self.assertEqual(
            {name: type(value) for name, value in
             stored_forms.attempted().items()},
            {name: type(value) for name, value in
             entry.to_primitive().items()})
        self.assertFalse(entry.is_taken)
        self.assertNotEqual(entry.attempt, journal.Entry.new().attempt)

    @ddt.data(*stored_forms.attempted())
    def test_one_without_a_value_is_unreadable(self, name):
        self.assertEqual(f'it has no entry {name}', self.assert_unreadable(
            stored_forms.without(stored_forms.attempted(), name)))

    def test_what_a_newer_version_has_more_is_stored_again(self):
        values = stored_forms.attempted(version='1.7', newer=['unknown'])
        self.assertEqual(values, journal.read(values).to_primitive())

    def test_a_newer_major_version_is_unreadable(self):
        self.assertIn('version 2.0', self.assert_unreadable(
            stored_forms.attempted(version='2.0')))

    @ddt.data(*stored_forms.without(stored_forms.attempted(), 'version'))
    def test_whatever_else_is_there_is_read_or_unreadable(self, name):
        readable = {
            'attempt': {'a text'}, 'holder': {'a text'}, 'changed': set(),
            'cells': set(), 'baseline': {'a dictionary'},
            'asked': {'a dictionary'},
            'answered': {'a truth'}, 'accepted': {'a truth'},
            # For Python a truth is one.
            'count': {'a number', 'a truth'}}
        found = set()
        for kind, value in stored_forms.OTHERS.items():
            try:
                journal.read(stored_forms.attempted(**{name: value}))
                found.add(kind)
            except exceptions.Unreadable:
                pass
        self.assertEqual(readable[name], found)

    @hypothesis.given(stored_forms.changed(stored_forms.attempted()))
    @stored_forms.settings(200)
    def test_nothing_that_is_stored_fails_otherwise(self, values):
        try:
            found = journal.read(values)
        except exceptions.Unreadable:
            return
        self.assertEqual(found, journal.read(found.to_primitive()))


class WithRetainedTest(testtools.TestCase):

    def test_it_is_read_of_what_is_retained(self):
        self.assertEqual(
            journal.read(stored_forms.attempted()),
            journal.of(stored_forms.retained(
                attempt=stored_forms.attempted())))

    def test_where_there_is_none_none_is_read(self):
        self.assertIsNone(journal.of(None))
        self.assertIsNone(journal.of(stored_forms.retained()))

    @hypothesis.given(stored_forms.changed(
        stored_forms.retained(attempt=stored_forms.attempted())))
    @stored_forms.settings(200)
    def test_whatever_is_retained_it_is_read_or_unreadable(self, section):
        try:
            found = journal.of(section)
        except exceptions.Unreadable:
            return
        self.assertIsInstance(found, (journal.Entry, type(None)))
