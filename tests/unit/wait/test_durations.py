# SPDX-License-Identifier: Apache-2.0

import contextlib
import datetime

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait import durations


@ddt.ddt
class DurationsTest(testtools.TestCase):

    @ddt.unpack
    @ddt.data(('45s', 45), ('45', 45), ('90m', 5400), ('2h', 7200),
              ('1d', 86400), ('0', 0))
    def test_a_duration_has_a_number_and_a_unit(self, text, seconds):
        self.assertEqual(
            datetime.timedelta(seconds=seconds), durations.parse(text))

    @ddt.data('', 'h', '-1h', '1.5h', '1w', '2h30m', ' 2h', '2 h', '٢h',
              '1h\n')
    def test_anything_else_is_an_error_that_names_it(self, text):
        error = self.assertRaises(ValueError, durations.parse, text)
        self.assertIn(repr(text), str(error))

    @hypothesis.given(st.text() | st.from_regex('[0-9]+[smhd]?'))
    def test_no_text_is_worse_than_an_error(self, text):
        with contextlib.suppress(ValueError):
            self.assertGreaterEqual(
                durations.parse(text), datetime.timedelta())
