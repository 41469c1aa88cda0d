# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild import stored


@ddt.ddt
class VersionTest(testtools.TestCase):

    @ddt.data({'version': '1.0'}, {'version': '2.0'},
              {'version': '2.7', 'newer': 'unknown'})
    def test_older_versions_and_newer_minor_ones_are_read(self, values):
        self.assertIs(values, stored.entries(values, '2.1'))

    @ddt.data('3.0', '10.0')
    def test_a_newer_major_one_is_not(self, version):
        error = self.assertRaises(
            exceptions.Unreadable, stored.entries, {'version': version}, '2.1')
        self.assertEqual(
            f'it is of version {version}, and this cell0-rebuild reads no '
            f'newer one than 2.1', error.reason)

    @ddt.data('', '2', '2.1.1', 'two.one', '-2.1', f'{"1" * 5000}.0', 2.1,
              None, [2, 1])
    def test_a_version_that_is_none_is_not_read(self, version):
        self.assertRaises(
            exceptions.Unreadable, stored.entries, {'version': version}, '2.1')

    def test_what_has_no_version_is_not_read(self):
        error = self.assertRaises(
            exceptions.Unreadable, stored.entries, {'an entry': 1}, '2.1')
        self.assertEqual('it has no entry version', error.reason)

    @ddt.data(None, True, 7, 'a text', [])
    def test_what_has_no_entries_is_not_read(self, values):
        self.assertRaises(
            exceptions.Unreadable, stored.entries, values, '2.1')


class EntryTest(testtools.TestCase):

    def test_it_is_what_is_stored(self):
        self.assertEqual('a value', stored.entry(
            {'name': 'a value'}, 'name', stored.TEXT, 'a default'))

    def test_one_that_is_missing_has_its_default(self):
        self.assertEqual('a default', stored.entry(
            {}, 'name', stored.TEXT, 'a default'))

    def test_one_that_is_needed_must_be_there(self):
        error = self.assertRaises(
            exceptions.Unreadable, stored.entry, {}, 'name', stored.TEXT,
            stored.NEEDED)
        self.assertEqual('it has no entry name', error.reason)

    def test_one_of_another_kind_is_not_read(self):
        error = self.assertRaises(
            exceptions.Unreadable, stored.entry, {'name': ['secret']}, 'name',
            stored.TEXT, 'a default')
        self.assertEqual('its entry name is damaged', error.reason)
