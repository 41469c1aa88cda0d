# SPDX-License-Identifier: Apache-2.0

"""With --once from cron, nobody stands in another's way either."""

import ddt

from cell0_rebuild.wait import values
from tests.unit.wait import isolation_base

Outcome = values.Outcome
REFUSALS = (Outcome.BLOCKED, Outcome.NO_ROLE, Outcome.OVER_QUOTA,
            Outcome.AWAY, Outcome.LATER)
OTHERS = 6
KINDS = 20


def answered(outcome):
    """Have requests for older servers end like this."""
    def offend(case, projects):
        case.offend(200, projects)
        case.answer(outcome)
    return offend


def filters(case, projects):
    """The filters refuse kinds of the same shape."""
    case.refuse(KINDS, projects)


def builds(case, projects):
    """Images of projects are too large; others create servers meanwhile."""
    case.break_images(60, projects)
    case.land_others()


def many_shapes(case, projects):
    """No host has room for very many shapes."""
    case.fill(1000, projects)


def hard_questions(case, projects):
    """Placement takes ten seconds, and fails."""
    case.ask_too_much(projects)


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
            *((answered(outcome), 0) for outcome in REFUSALS),
            (many_shapes, 0), (hard_questions, 0),
            (filters, min(projects, KINDS) + 1), (builds, projects))))
    @ddt.unpack
    def test_others_land_as_soon(self, offender, projects, finds_out):
        offender(self, projects)
        others = self.others(OTHERS)
        # Each run sends one of a shape.
        self.assertLessEqual(self.runs(others), OTHERS + finds_out)
