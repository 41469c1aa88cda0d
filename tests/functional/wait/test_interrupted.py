# SPDX-License-Identifier: Apache-2.0

"""A rebuild of the waiting service is interrupted, and recovered."""

from nova import exception

from tests.functional import base
from tests.functional.support import recovering
from tests.functional.wait import keystone
from tests.functional.wait import sweeping


class InterruptedTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.fill()
        self.first, self.second = self.wait_for_room(), self.wait_for_room()
        self.make_room(5)
        self.flags(at_once=1, group=keystone.GROUP)

    def test_its_neighbour_is_tried_next(self):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, before=recovering.crash))
        self.sweeper.sweep()
        code, found = recovering.recover()
        self.assertEqual(
            (0, [self.first['id']]), (code, [*found]))
        self.sweeper.sweep()
        self.assertEqual(
            [self.first['id'], self.second['id']], self.asked()[:2])

    def _find_none(self, *args, **kwargs):
        raise exception.NoValidHost(reason='')

    def test_of_one_that_found_no_host_it_waits(self):
        self.useFixture(base.Interception(
            recovering.SCHEDULER, before=self._find_none))
        self.sweeper.sweep()
        self._wait_for_state_change(self.first, 'ERROR')
        swept = self.sweeper.sweep()
        self.assertEqual([self.first['id']], self.asked())
        self.assertEqual('scheduler', self.codes(swept)[self.second['id']])
