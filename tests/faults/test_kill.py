# SPDX-License-Identifier: Apache-2.0

"""A real process is killed at any boundary of a move: nothing is lost.

Its database is MariaDB and its broker RabbitMQ. It takes long, so it is no
part of the quick tests.
"""

from tests.faults import boundaries
from tests.faults import clouds
from tests.faults import kills_base
from tests.faults import remains
from tests.faults import series
from tests.faults import stories
from tests.integration import base

OVER_QUOTA = 'over quota'


def setUpModule():
    cloud = base.shared_cloud(clouds.Cloud)
    cloud.conductors(enabled=[clouds.CONDUCTOR])
    kills_base.KillSeries.cloud = cloud


class KillTest(kills_base.KillSeries):

    def test_nova_api_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.API)

    def test_a_conductor_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.CONDUCTOR)

    def test_a_conductor_without_capacity(self):
        self.play_all(stories.NO_CAPACITY, boundaries.CONDUCTOR)


class UnsentKillTest(kills_base.KillSeries):
    """The conductor dies when it buries creates that are over quota.

    At worst as much is left of one as Nova leaves of a create whose conductor
    dies: tests/upstream/test_overtaken.py.
    """

    # To Nova, a create is updated whenever somebody looks.
    settling = ('id', 'status', 'OS-EXT-STS:task_state')

    def test_a_conductor_over_quota(self):
        self.addCleanup(self._have_conductor)
        self.play_all(OVER_QUOTA, boundaries.CONDUCTOR)

    def _have_conductor(self, *changes):
        # The quota is lowered for conductors alone, else nova-api refuses.
        self.cloud.conductors()
        self.cloud.add_conductor(clouds.CONDUCTOR, *changes)

    def prepare(self, story, cases):
        """Replace: it is the request that is to have it buried."""
        self.have_capacity(True)
        self._have_conductor({'cell0_rebuild': {'rebuild': 'never_launched'},
                              'quota': {'instances': 0}})
        return [self.new_case(*case) for case in cases]

    def request(self, case):
        """Replace: create it."""
        return self.create(case)

    def boundaries_of(self, story):
        """Extend: those of the burial alone."""
        crossed = super().boundaries_of(story)
        [sent] = [number for number, boundary in enumerate(crossed)
                  if boundary.what == 'select_destinations']
        burial = [boundary for boundary in crossed[sent:]
                  if not boundary.where.endswith(
                      '.schedule_and_build_instances')]
        self._usual |= self._left_by_a_dead_conductor(story, burial[0])
        return burial

    def check_crossed(self, found):
        """Replace: it is no rebuild."""
        series.check_databases_seen(self, found)

    def _left_by_a_dead_conductor(self, story, boundary):
        [case] = self.prepare(
            story, [(series.Crash(boundary, boundaries.BEFORE), None)])
        self.kill(case)
        self.delete(case)
        # The rest is what one leaves that dies before it has a row in a cell,
        # or at the end of a burial.
        return self._left_of(case, self.cloud.tables()) | {
            'orphans in api.instance_mappings',
            'orphans in api.request_specs', remains.BUILD_REQUEST,
            stories.LISTED}

    def is_right(self, status, listed):
        """Replace: a list may have its row before its build request goes.

        So it is for a moment in Nova's own burial.
        """
        return status in ('BUILD', 'ERROR') and len(listed) == 1

    def kept(self, cases):
        """Replace: those that are buried; the others can be deleted."""
        self._have_conductor()
        buried = [case for case in cases if self.status(case) == 'ERROR']
        self.delete_all([case for case in cases if case not in buried])
        return buried

    def rebuild(self, case):
        """Extend: an operator may have to end the burial first."""
        answer = super().rebuild(case)
        if 'The burial of server' in answer.text:
            self.cloud.end_burial(case.server)
            answer = super().rebuild(case)
        return answer
