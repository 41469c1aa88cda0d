# SPDX-License-Identifier: Apache-2.0

"""An operator's burial dies at any boundary: no server is lost.

The server failed on its compute.
"""

import argparse
import contextlib
import io

from cell0_rebuild.cmd import bury
from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.functional.support import databases
from tests.functional.support import failing

BURIAL = 'burial'
_BURIED = 0


class BuryingTest(series.Series):

    options = {**series.Series.options, 'rebuild': 'never_launched'}

    def setUp(self):
        self.builds = self.useFixture(failing.FailingBuilds())
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')

    def bury_one(self, story):
        """Extend: in this story, it is the run that is to bury it."""
        if story != BURIAL:
            return super().bury_one(story)
        self.have_capacity(True)
        server = self._build_server(networks=[{'port': stories.PORT}])
        server.update(tags=stories.TAGS, metadata=stories.METADATA)
        with self.builds.failing():
            server = self._wait_for_state_change(
                self.api.post_server({'server': server}), 'ERROR')
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        return {**server, 'volume': None, 'request': {}, 'accelerators': 0}

    def run_rebuild(self, server, fault=None):
        """Replace: bury it, which counts as what nova-api does."""
        with self.crossings.watching(fault) as run:
            try:
                code = self._bury(server)
            except boundaries.Killed:
                code = None
        self._reset_fixture()
        return run, code

    def _bury(self, server):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), (
                contextlib.redirect_stderr(output)):
            return bury.run(argparse.Namespace(
                server=server['id'], dry_run=False))

    def boundaries_of(self, story):
        """Replace: what a burial without a fault crosses."""
        for _ in range(2):
            server = self.bury_one(story)
            run, code = self.run_rebuild(server)
            self.assertEqual(_BURIED, code)
            self._finish(server)
        series.check_databases_seen(self, run.crossed)
        return run.crossed

    def _then_recover(self, server):
        """Replace: recover it, bury it if it is not, and rebuild it."""
        self.recover(server)
        if self.check_shown(server) != 'ERROR':
            raise stories.Problem('it is not shown as ERROR')
        if databases.cell_of(server['id']) != 'cell0' and (
                self._bury(server) != _BURIED):
            raise stories.Problem('it cannot be buried again')
        self.check_comes_back(server)
        self._finish(server)

    def test_it_is_shown_and_can_be_deleted(self):
        self.play_all(BURIAL, series.DELETE)

    def test_it_is_shown_and_can_be_recovered(self):
        self.play_all(BURIAL, series.RECOVER)
