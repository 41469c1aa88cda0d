# SPDX-License-Identifier: Apache-2.0

"""With --once from cron, nobody stands in another's way either."""

import ddt

from cell0_rebuild import exceptions
from cell0_rebuild.wait import values
from tests.unit.wait import isolation_base
from tests.unit.wait import samples

Outcome = values.Outcome
OTHERS = 6
KINDS = 20


def refused(case, projects):
    """nova-api refuses older servers."""
    case.offend(200, projects)
    case.answer(Outcome.BLOCKED)


def without_role(case, projects):
    """The service has no role in the projects of older servers."""
    case.offend(200, projects)
    case.answer(Outcome.NO_ROLE)


def over_quota(case, projects):
    """The quotas of projects refuse older servers."""
    case.offend(200, projects)
    case.answer(Outcome.OVER_QUOTA)


def away(case, projects):
    """Requests of projects get no answer."""
    case.offend(200, projects)
    case.answer(Outcome.AWAY)


def later(case, projects):
    """Another service is away that projects use."""
    case.offend(200, projects)
    case.answer(Outcome.LATER)


def filters(case, projects):
    """The filters refuse kinds of the same shape."""
    def kind(number):
        return samples.kind(
            'resources=VCPU:1', likeness=f'refused-{number % KINDS}')
    case.offend(60, projects, kind)
    case.cloud.refused = {kind(number) for number in range(KINDS)}


def builds(case, projects):
    """Images of projects are too large; others create servers meanwhile."""
    case.offend(60, projects)
    case.cloud.failing = {f'bad-{number}' for number in range(projects)}
    census = case.cloud.census

    def with_creates():
        case.cloud.land_others()
        return census()
    case.cloud.census = with_creates


def shape(number):
    return samples.kind(f'resources=VCPU:1,CUSTOM_{number}:1')


def many_shapes(case, projects):
    """No host has room for very many shapes."""
    case.cloud.takes['CUSTOM'] = 0.03
    case.offend(1000, projects, shape)
    for number in range(1000):
        case.cloud.rooms[shape(number).shape.question] = 0


def hard_questions(case, projects):
    """Placement takes ten seconds, and fails."""
    case.offend(30, projects, shape)
    case.cloud.takes['CUSTOM'] = 10

    def fail(asked):
        if 'CUSTOM' in str(asked):
            raise exceptions.NoPlacement('Read timed out.')
    case.cloud.fail = fail


@ddt.ddt
class OnceTest(isolation_base.IsolationTestCase):

    def runs(self, others):
        """Return after how many runs, a minute apart, these have landed."""
        for number in range(200):
            self.cloud.restart()
            self.cloud.sweeper.sweep()
            if self.cloud.landed_of(others) == len(others):
                return number
            self.cloud.seconds += 60
        self.fail(f'{self.cloud.landed_of(others)} have landed.')

    # What is found out by a refusal of nova-api, or by a question, costs no
    # run. What is found out by a server on its way costs one for each project
    # or kind.
    @ddt.data(*(
        (offender, projects, finds_out)
        for projects in (1, 3, 30) for offender, finds_out in (
            (refused, 0), (without_role, 0), (over_quota, 0), (away, 0),
            (later, 0), (many_shapes, 0), (hard_questions, 0),
            (filters, min(projects, KINDS) + 1), (builds, projects))))
    @ddt.unpack
    def test_others_land_as_soon(self, offender, projects, finds_out):
        offender(self, projects)
        others = self.others(OTHERS)
        # Each run sends one of a shape.
        self.assertLessEqual(self.runs(others), OTHERS + finds_out)
