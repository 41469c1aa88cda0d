# SPDX-License-Identifier: Apache-2.0

"""Many rebuilds at once in a conductor that works on one at a time."""

import time

from tests.functional import base
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.support import reimage_base


class _OneSlot:

    def setUp(self):
        # Whoever waits in vain waits longer than the test.
        self.stub_out('cell0_rebuild.conductor.throttle._NUMBER', 1)
        self.stub_out('cell0_rebuild.conductor.throttle._PATIENCE', 300)
        super().setUp()

    def _start_compute(self, *args, **kwargs):
        self.other = self.bury()
        return super()._start_compute(*args, **kwargs)

    def rebuild_the_other(self, *args, **kwargs):
        self.rebuild(self.other)
        self._wait_for_state_change(self.other, 'ACTIVE')


class BulkTest(_OneSlot, races_base.RaceTestCase):

    def test_of_many_one_is_worked_on_at_a_time(self):
        seen = []

        def ask(*args, **kwargs):
            self.rebuild(self.other)
            time.sleep(2)
            seen.append(self.api.get_server(self.other['id'])['status'])
        self.useFixture(base.Interception(
            recovering.HAND_OVER, before=ask))
        self.rebuild(self.server)
        self.active(self.server)
        self.active(self.other)
        self.assertEqual(['BUILD'], seen)

    def test_while_one_waits_for_the_scheduler_another_is_built(self):
        self.useFixture(base.Interception(
            races_base.SCHEDULER, before=self.rebuild_the_other))
        self.rebuild(self.server)
        self.active(self.server)

    def test_while_a_stale_one_waits_for_a_newer_one_that_is_built(self):
        self.useFixture(base.Interception(
            recovering.RELEASE, before=self.rebuild_the_other))
        self.useFixture(base.Interception(
            races_base.SCHEDULER, after=self.bury_as_an_operator_would))
        self.rebuild(self.server)
        self._wait_for_state_change(self.other, 'ACTIVE')


class ReimageTest(_OneSlot, reimage_base.ReimageTestCase):

    def test_while_an_image_is_written_another_is_built(self):
        self.useFixture(base.Interception(
            recovering.WRITING,
            before=self.rebuild_the_other))
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
