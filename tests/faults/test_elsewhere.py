# SPDX-License-Identifier: Apache-2.0

"""A conductor dies while it buries again; then another cell has the server.

Its build had failed when it had a row in the first cell already. Its owner
asks again without waiting for an operator.
"""

import contextlib

from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.functional import base
from tests.functional.support import recovering


class ElsewhereTest(series.Series):

    NUMBER_OF_CELLS = 2
    step = None

    def setUp(self):
        super().setUp()
        self._others = self._start_compute(
            'host2', cell_name='cell2').service_ref.uuid
        self._have_others(False)

    def _have_others(self, wanted):
        self.admin_api.put_service(
            self._others, {'status': 'enabled' if wanted else 'disabled'})

    def run_rebuild(self, server, fault=None):
        """Extend: the build fails at a step, but not that of the owner."""
        # A fault may come before.
        with base.Interception(
                self.step, before=recovering.fail, is_certain=fault is None,
        ) if self.step else contextlib.nullcontext():
            return super().run_rebuild(server, fault)

    def _play(self, story, ending, fault):
        step = self.step
        try:
            return super()._play(story, ending, fault)
        finally:
            self.step = step
            self._have_others(False)

    def _then_elsewhere(self, server):
        self.step = None
        self.have_capacity(False)
        self._have_others(True)
        _, answer = self.run_rebuild(server)
        if answer.status_code != 202:
            # It is still on its way, or on its way back.
            self.recover(server)
            self.wait_for(server, 'ERROR')
            self.cleared = True
            _, answer = self.run_rebuild(server)
        if answer.status_code != 202:
            raise stories.Problem(f'a second rebuild answers {answer.text}')
        self.check_active(server)
        self.check_complete(server)
        self._finish(server)

    def _play_from(self, step):
        self.step = step
        self.play_all(stories.CAPACITY, series.ELSEWHERE,
                      processes=[boundaries.CONDUCTOR])

    def test_after_a_build_that_failed_in_its_cell_it_is_only_there(self):
        self._play_from(recovering.TAGS)

    def test_after_a_build_that_was_not_sent_it_is_only_there(self):
        self._play_from(recovering.CAST)
