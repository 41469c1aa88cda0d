# SPDX-License-Identifier: Apache-2.0

import json

import ddt
import hypothesis
from nova import objects
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt_record
from tests.unit import stored_forms


class OnInstanceTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.instance = objects.Instance(system_metadata={'other': 'kept'})
        self.record = attempt_record.AttemptRecord(
            'generation', ['name'], {}, accepted=True)

    def test_it_is_read_as_it_was_put_on(self):
        self.record.put_on(self.instance)
        self.assertEqual(self.record, attempt_record.of(self.instance))

    def test_an_instance_without_one_has_none(self):
        self.assertIsNone(attempt_record.of(self.instance))
        self.assertFalse(attempt_record.is_on(self.instance))

    def test_it_is_taken_off_alone(self):
        self.record.put_on(self.instance)
        attempt_record.take_off(self.instance)
        self.assertEqual({'other': 'kept'}, self.instance.system_metadata)

    def test_it_is_that_of_its_generation_and_no_other(self):
        self.record.put_on(self.instance)
        self.assertEqual(self.record, self.of_generation('generation'))
        self.assertIsNone(self.of_generation('another'))

    def test_an_instance_without_one_is_of_no_generation(self):
        self.assertIsNone(self.of_generation('generation'))
        self.instance = objects.Instance()
        self.assertIsNone(self.of_generation('generation'))

    def test_it_is_put_into_what_is_stored_as_on_the_instance(self):
        primitive = self.instance.obj_to_primitive()
        self.record.put_in(primitive)
        self.record.put_on(self.instance)
        self.assertEqual(
            self.instance.system_metadata,
            objects.Instance.obj_from_primitive(primitive).system_metadata)

    def test_it_is_copied_as_it_is_stored(self):
        source = {'nova_object.data': {
            'system_metadata': {attempt_record.KEY: 'unreadable'}}}
        target = self.instance.obj_to_primitive()
        self.assertTrue(attempt_record.copy(source, target))
        self.assertEqual(
            {'other': 'kept', attempt_record.KEY: 'unreadable'},
            target['nova_object.data']['system_metadata'])

    def test_where_there_is_none_nothing_is_copied(self):
        self.record.put_on(self.instance)
        target = self.instance.obj_to_primitive()
        self.assertFalse(attempt_record.copy(
            objects.Instance().obj_to_primitive(), target))
        self.assertEqual(self.instance.obj_to_primitive(), target)

    def test_text_that_is_no_json_is_unreadable(self):
        self.instance.system_metadata = {attempt_record.KEY: '{'}
        self.assertRaises(
            exceptions.Unreadable, attempt_record.of, self.instance)

    def test_one_that_is_unreadable_is_there_but_of_no_generation(self):
        self.instance.system_metadata = {attempt_record.KEY: json.dumps(
            stored_forms.marked(version='2.0'))}
        self.assertTrue(attempt_record.is_on(self.instance))
        self.assertIsNone(self.of_generation('a generation'))

    def of_generation(self, generation):
        """Return the record in what is stored of the instance."""
        return attempt_record.of_generation(
            self.instance.obj_to_primitive(), generation)


@ddt.ddt
class ReadTest(testtools.TestCase):

    def assert_unreadable(self, values):
        """Check that it is refused and return the reason."""
        return self.assertRaises(
            exceptions.Unreadable, attempt_record.read, values).reason

    def test_what_is_read_is_stored_again(self):
        self.assertEqual(
            stored_forms.marked(),
            attempt_record.read(stored_forms.marked()).to_primitive())

    def test_a_new_one_has_every_entry(self):
        self.assertEqual(
            {name: type(value) for name, value in stored_forms.marked(
                mapped_at=None, taken_by=None).items()},
            {name: type(value) for name, value in
             attempt_record.AttemptRecord('', [], {}).to_primitive().items()})

    @ddt.data(*stored_forms.marked())
    def test_one_without_an_entry_is_unreadable(self, name):
        self.assertEqual(f'it has no entry {name}', self.assert_unreadable(
            stored_forms.without(stored_forms.marked(), name)))

    def test_what_a_newer_version_has_more_is_stored_again(self):
        values = stored_forms.marked(version='1.7', newer=['unknown'])
        self.assertEqual(values, attempt_record.read(values).to_primitive())

    def test_a_newer_major_version_is_unreadable(self):
        self.assertIn('version 2.0', self.assert_unreadable(
            stored_forms.marked(version='2.0')))

    @ddt.data(*stored_forms.without(stored_forms.marked(), 'version'))
    def test_whatever_else_is_there_is_read_or_unreadable(self, name):
        text = {'a text'} if name != 'mapped_at' else set()
        readable = {
            'generation': text, 'changed': set(), 'cells': set(),
            'baseline': {'a dictionary'}, 'asked': {'a dictionary'},
            'brought': {'a dictionary'},
            'answered': {'a truth'}, 'accepted': {'a truth'}}
        found = set()
        for kind, value in stored_forms.OTHERS.items():
            try:
                attempt_record.read(stored_forms.marked(**{name: value}))
                found.add(kind)
            except exceptions.Unreadable:
                pass
        self.assertEqual(readable.get(name, {'null', *text}), found)

    @hypothesis.given(stored_forms.changed(stored_forms.marked()))
    @stored_forms.settings(200)
    def test_nothing_that_is_stored_fails_otherwise(self, values):
        try:
            found = attempt_record.read(values)
        except exceptions.Unreadable:
            return
        self.assertEqual(found, attempt_record.read(found.to_primitive()))


@ddt.ddt
class RetainedTest(testtools.TestCase):

    def test_it_is_read_as_what_is_stored(self):
        self.assertEqual(
            attempt_record.read(stored_forms.marked()),
            attempt_record.RetainedRecord(stored_forms.marked()).read())

    def test_without_one_nothing_is_known_of_the_attempt(self):
        self.assertEqual(
            attempt_record.AttemptRecord.unknown(),
            attempt_record.RetainedRecord({}).read())

    def test_one_that_is_unreadable_is_not_read(self):
        self.assertRaises(
            exceptions.Unreadable,
            attempt_record.RetainedRecord({'version': '2.0'}).read)

    @ddt.data({}, {'version': '2.0'}, {'changed': 'damaged'})
    def test_only_the_generation_tells_whose_it_is(self, others):
        found = attempt_record.RetainedRecord(
            stored_forms.marked(**others))
        self.assertTrue(found.is_of('a generation'))
        self.assertFalse(found.is_of('another'))

    def test_without_one_it_is_of_an_attempt_that_is_unknown(self):
        found = attempt_record.RetainedRecord({})
        self.assertTrue(found.is_of(
            attempt_record.AttemptRecord.unknown().generation))
        self.assertFalse(found.is_of('a generation'))
