#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What the tests must reach, lines and branches each."""

import contextlib
import io
import json
import pathlib

import fixtures
import testtools

from tools import check_coverage


class CheckCoverageTest(testtools.TestCase):

    def check(self, lines, branches):
        """Return the exit code and what was written to stderr."""
        report = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'report.json'
        report.write_text(json.dumps({'totals': {
            'percent_statements_covered': lines,
            'percent_branches_covered': branches}}))
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), \
                contextlib.redirect_stdout(io.StringIO()):
            code = check_coverage.main(str(report), '95')
        return code, errors.getvalue()

    def test_enough_of_both_is_enough(self):
        self.assertEqual((0, ''), self.check(95.0, 95.0))

    def test_too_few_branches_fail_whatever_the_lines(self):
        self.assertEqual(
            (1, 'below 95 %: branches\n'), self.check(99.9, 94.9))
