# SPDX-License-Identifier: Apache-2.0

"""Servers that offend, beside others: what the tests of both have in common.
"""

import ddt
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait import values
from tests.unit.wait import clouds
from tests.unit.wait import samples

HOUR = 3600
OTHERS = 20


def spread(*more):
    """Give a test an offender that is one project, three or thirty."""
    return ddt.data(1, 3, 30, *more)


def shape(number):
    """Return the kind of one of many shapes."""
    return samples.kind(f'resources=VCPU:1,CUSTOM_{number}:1')


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

    def refuse(self, kinds, projects):
        """Have kinds of one shape wait that filters refuse, three of each."""
        def kind(number):
            return samples.kind(
                'resources=VCPU:1', likeness=f'refused-{number % kinds}')
        self.offend(3 * kinds, projects, kind)
        self.cloud.refused = {kind(number) for number in range(kinds)}

    def break_images(self, count, projects):
        """Have servers wait whose images are too large."""
        self.offend(count, projects)
        self.cloud.failing = {f'bad-{number}' for number in range(projects)}

    def land_others(self, every=0):
        """Have others create servers meanwhile.

        :param every: seconds from one to the next; 0 is with each sweep.
        """
        census, last = self.cloud.census, -every

        def with_creates():
            nonlocal last
            if self.cloud.seconds - last >= every:
                self.cloud.land_others()
                last = self.cloud.seconds
            return census()
        self.cloud.census = with_creates

    def fill(self, shapes, projects=1):
        """Have servers of many shapes wait that no host has room for."""
        self.cloud.takes['CUSTOM'] = 0.03
        self.offend(shapes, projects, shape)
        for number in range(shapes):
            self.cloud.rooms[shape(number).shape.question] = 0

    def ask_too_much(self, projects):
        """Have questions wait that Placement takes long for, and fails."""
        self.offend(30, projects, shape)
        self.cloud.takes['CUSTOM'] = 10

        def fail(asked):
            if 'CUSTOM' in str(asked):
                raise exceptions.NoPlacement('Read timed out.')
        self.cloud.fail = fail

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
