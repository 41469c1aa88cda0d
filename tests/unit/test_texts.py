# SPDX-License-Identifier: Apache-2.0

"""What Nova stores of a text says what happened, and what to do."""

import re

import ddt
import testtools

from cell0_rebuild import texts
from tests.unit import messages

# Of the waiting service's own, before what it was refused with.
PREFIX = 'blocked: '
# Most names are UUIDs.
NAME = 'N' * 36
LONG = 'long ' * 200


class FittingTest(testtools.TestCase):

    def test_a_text_that_fits_is_left_as_it_is(self):
        text = 'x' * texts.LONGEST
        self.assertEqual(text, texts.fitting(text))

    def test_a_longer_one_keeps_its_beginning_and_its_end(self):
        text = texts.fitting(f'What happened: {LONG}. What to do.')
        self.assertRegex(text, r'^What happened: .* \.\.\. .*\. What to do\.$')
        self.assertLessEqual(len(text), texts.LONGEST)

    def test_a_column_is_measured_in_bytes(self):
        for letter in 'é', '語':
            for before in range(4):
                text = texts.fitting('x' * before + letter * 200)
                self.assertLessEqual(len(text.encode()), texts.LONGEST)
                self.assertEqual(set(text), {*text[:before], letter, *' .'})

    def test_what_a_column_may_refuse_is_replaced(self):
        self.assertEqual(
            'Image \ufffd, \ufffd and 語.',
            texts.fitting('Image 🙂, \udce9 and 語.'))


@ddt.ddt
class StoredTest(testtools.TestCase):

    @ddt.idata(messages.stored())
    def test_with_usual_names_all_of_it_is_told(self, parts):
        self.assertLessEqual(
            len(PREFIX + NAME.join(parts)), texts.LONGEST, parts)

    @ddt.idata(messages.stored())
    def test_whatever_is_long_in_it_the_last_sentence_is_told(self, parts):
        last = re.split('(?<=[.:;]) ', parts[-1].strip())[-1]
        for long in range(1, len(parts)):
            text = PREFIX + ''.join(
                name + part for name, part in zip(
                    ['', *(LONG if index == long else NAME
                           for index in range(1, len(parts)))],
                    parts))
            self.assertTrue(texts.fitting(text).endswith(last), text)

    def test_texts_of_every_kind_are_found(self):
        found = '\n'.join(NAME.join(parts) for parts in messages.stored())
        for text in ('has no request spec', 'was interrupted',
                     f'volume {NAME}: it was not ready',
                     's. When the volume is "reserved", rebuild',
                     'found no host while it waited', 'has no role in'):
            self.assertIn(text, found)
