# SPDX-License-Identifier: Apache-2.0

"""The table of all that owners read."""

import ddt
import testtools

from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

REASONS = [reason for reason in vars(texts).values()
           if isinstance(reason, values.Reason)]
# Their texts are the words of others.
TOLD_BY_OTHERS = {values.Code.QUOTA}


@ddt.ddt
class TextsTest(testtools.TestCase):

    def test_every_code_is_there_that_no_other_service_words(self):
        self.assertEqual(
            {*values.Code} - TOLD_BY_OTHERS,
            {reason.code for reason in REASONS})

    def test_no_text_is_there_twice(self):
        self.assertEqual(
            len(REASONS), len({reason.text for reason in REASONS}))

    @ddt.data(*REASONS)
    def test_no_text_names_anything(self, reason):
        # A name is filled in, or has capitals, digits or punctuation.
        self.assertRegex(reason.text, r'^[A-Z].*\.$')
        text = reason.text.replace('API', 'interface').replace(
            'Placement', 'it').replace('Neutron', 'it').replace(
            'ACTIVE', 'there')
        for sentence in text.split('. '):
            self.assertRegex(sentence, r"^[A-Z]?[a-z]*[ a-z,;:]*\.?$")

    @ddt.data(*REASONS)
    def test_an_owner_can_read_all_of_it_in_the_event_list(self, reason):
        # The column of the message has so many characters.
        self.assertLessEqual(len(reason.message()), 255)
        self.assertRegex(reason.code.value, '^[a-z-]+$')
        self.assertEqual(reason, values.parsed(reason.message()))
