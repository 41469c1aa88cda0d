# SPDX-License-Identifier: Apache-2.0

"""What an operator has decided is read by any version of the package."""

import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait.census import operator_decisions


def read(version='1.0', **entries):
    """Return what has been decided, as it is stored."""
    return operator_decisions.read({
        'version': version, 'requested_networks': None, 'waiting': entries})


class DecisionTest(testtools.TestCase):

    def test_nothing_stored_is_nothing_decided(self):
        for section in (None, {'version': '1.0'}):
            self.assertEqual(
                operator_decisions.Decision(),
                operator_decisions.read(section))

    def test_what_is_missing_is_nothing_decided(self):
        self.assertEqual(
            operator_decisions.Decision(priority=-2), read(priority=-2))

    def test_entries_of_a_newer_minor_version_are_left_out(self):
        self.assertEqual(
            operator_decisions.Decision(held=True),
            read('1.7', held=True, colour=1))

    def test_a_newer_major_version_cannot_be_read(self):
        self.assertRaises(exceptions.Unreadable, read, '2.0', held=True)

    def test_what_is_damaged_cannot_be_read(self):
        for name in ('priority', 'held', 'ended'):
            for value in (None, 'yes', [1]):
                self.assertRaises(
                    exceptions.Unreadable, read, **{name: value})

    def test_what_is_not_changed_is_left_as_it_is_stored(self):
        section = {'version': '1.7', 'requested_networks': None,
                   'waiting': {'priority': 'damaged', 'colour': 1}}
        self.assertEqual(
            {'waiting': {'priority': 'damaged', 'colour': 1, 'held': True}},
            operator_decisions.changed(section, {'held': True}))

    def test_nothing_is_changed_in_what_cannot_be_read(self):
        for section in (
                {'version': '2.0'}, {'version': '1.0', 'waiting': []}):
            self.assertRaises(
                exceptions.Unreadable, operator_decisions.changed, section,
                {'held': True})
