# SPDX-License-Identifier: Apache-2.0

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
