# SPDX-License-Identifier: Apache-2.0

"""Servers that offend, beside others: what the tests of both have in common.
"""

import ddt
import testtools

from cell0_rebuild.wait import values
from tests.unit.wait import clouds

HOUR = 3600
OTHERS = 20


def spread(*more):
    """Give a test an offender that is one project, three or thirty."""
    return ddt.data(1, 3, 30, *more)


class IsolationTestCase(testtools.TestCase):
    """Older servers of projects that offend, and younger ones of others."""

    def setUp(self):
        super().setUp()
        self.cloud = clouds.Cloud()
        self.offending = set()

    def offend(self, count, projects, kind=lambda number: clouds.SMALL):
        """Have older servers wait.

        :param projects: over how many projects they are spread; 0 are servers
            of the project of others.
        :param kind: returns the kind of one, by its number.
        """
        for number in range(count):
            project = f'bad-{number % projects}' if projects else 'good-0'
            self.offending.update(self.cloud.wait(
                1, project, kind(number), age=10))

    def others(self, count=OTHERS):
        """Have younger servers of ten projects wait."""
        return [uuid for number in range(count) for uuid in self.cloud.wait(
            1, f'good-{number % 10}')]

    def answer(self, outcome):
        """Have requests for servers that offend end like this."""
        self.cloud.answer = lambda server: values.Answer(
            outcome, 'No.') if server.uuid in self.offending else None

    def requested(self, uuids):
        """Return when the first of some servers was requested."""
        return min((seconds for seconds, uuid in self.cloud.requests
                    if uuid in set(uuids)), default=None)

    def seconds_to_land(self, uuids):
        """Sweep until these have landed; return how long that took."""
        begun = self.cloud.seconds
        self.cloud.run(
            HOUR, lambda: self.cloud.landed_of(uuids) == len(uuids))
        self.assertEqual(len(uuids), self.cloud.landed_of(uuids))
        return self.cloud.seconds - begun
