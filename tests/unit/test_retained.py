# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from nova import objects
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild import retained
from tests.unit import stored_forms

read = retained.Retained.from_primitive

# What is stored later than the rest.
DEFAULTS = {'root_known': True}


@ddt.ddt
class KeptTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()

    def assert_unreadable(self, primitive):
        """Check that it is refused and return the reason."""
        return self.assertRaises(
            exceptions.Unreadable, read, primitive).reason

    def test_what_is_stored_is_read(self):
        found = read(stored_forms.retained())
        [network] = found.requested_networks
        self.assertEqual(
            ('00000000-0000-0000-0000-000000000001', '192.0.2.7', 'a tag'),
            (network.network_id, str(network.address), network.tag))
        self.assertEqual('a host', found.requested_destination.host)
        self.assertEqual([['/etc/motd', 'aGVsbG8=']], found.injected_files)

    def test_what_is_stored_has_every_entry(self):
        for found in (read(stored_forms.retained()), retained.Retained(None)):
            self.assertEqual(
                set(stored_forms.retained()), set(found.to_primitive()))

    @ddt.data(*DEFAULTS)
    def test_an_entry_that_is_missing_has_its_default(self, name):
        found = read(stored_forms.without(stored_forms.retained(), name))
        self.assertEqual(DEFAULTS[name], getattr(found, name))

    @ddt.data('requested_networks', 'requested_destination',
              'injected_files', 'version')
    def test_what_is_missing_is_not_taken_for_none(self, name):
        self.assertEqual(f'it has no entry {name}', self.assert_unreadable(
            stored_forms.without(stored_forms.retained(), name)))

    def test_an_entry_that_is_unknown_is_no_obstacle(self):
        found = read(stored_forms.retained(version='1.9', newer='unknown'))
        self.assertEqual('a host', found.requested_destination.host)

    def test_a_newer_major_version_is_unreadable(self):
        self.assertIn('version 2.0', self.assert_unreadable(
            stored_forms.retained(version='2.0')))

    @ddt.data('requested_networks', 'requested_destination')
    def test_an_object_of_a_newer_nova_is_unreadable(self, name):
        values = stored_forms.retained()
        values[name]['nova_object.version'] = '1.99'
        reason = self.assert_unreadable(values)
        self.assertIn(f'its entry {name} cannot be loaded', reason)
        self.assertIn('Version 1.99', reason)

    def test_another_object_is_unreadable(self):
        other = stored_forms.retained()['requested_destination']
        self.assertEqual(
            'its entry requested_networks is damaged', self.assert_unreadable(
                stored_forms.retained(requested_networks=other)))

    @ddt.data('requested_networks', 'requested_destination',
              'injected_files', 'root_known')
    def test_whatever_else_is_there_is_read_or_unreadable(self, name):
        readable = {
            'requested_networks': {'null'}, 'requested_destination': {'null'},
            'injected_files': set(), 'root_known': {'a truth'}}
        found = set()
        for kind, value in stored_forms.OTHERS.items():
            try:
                read(stored_forms.retained(**{name: value}))
                found.add(kind)
            except exceptions.Unreadable:
                pass
        self.assertEqual(readable[name], found)

    @ddt.data([['a path']], [['a path', 'content', 'more']], ['a path'],
              [[None, 'content']], [['a path', 7]], [{'a': 'b'}])
    def test_files_of_another_form_are_unreadable(self, files):
        self.assertEqual(
            'its entry injected_files is damaged', self.assert_unreadable(
                stored_forms.retained(injected_files=files)))

    def test_no_reason_tells_what_is_stored(self):
        values = stored_forms.retained(
            injected_files=[['/etc/motd', 7, 'secret']])
        self.assertNotIn('secret', self.assert_unreadable(values))
        values = stored_forms.retained()
        values['requested_networks']['nova_object.data']['objects'][0][
            'nova_object.data']['address'] = 'secret'
        self.assertEqual(
            'its entry requested_networks cannot be loaded (ValueError)',
            self.assert_unreadable(values))

    @hypothesis.given(stored_forms.changed(stored_forms.retained()))
    @stored_forms.settings(300)
    def test_nothing_that_is_stored_fails_otherwise(self, primitive):
        try:
            found = read(primitive)
        except exceptions.Unreadable:
            return
        for network in found.requested_networks or ():
            self.assertIsInstance(network.to_tuple(), tuple)
        self.assertIsInstance(found.injected_files, list)

    def test_what_was_asked_of_the_scheduler_is_not_read(self):
        self.assertEqual(
            {'requested_networks': 'damaged', 'requested_destination': None},
            retained.asked_of({
                'requested_networks': 'damaged', 'root_known': False}))
        for damaged in (None, 'a text', ['a list']):
            self.assertEqual(damaged, retained.asked_of(damaged))
