# SPDX-License-Identifier: Apache-2.0

"""A conductor dies, or meets errors, when it buries a create that failed.

The create failed when it had a host. If the conductor dies, or Nova's part of
the burial fails, at worst as much is left of it as Nova leaves of one whose
conductor dies in a create, or in a burial: tests/upstream/test_overtaken.py.
"""

import contextlib
import contextvars

import fixtures
from nova.conductor import manager

from tests.faults import boundaries
from tests.faults import errors
from tests.faults import remains
from tests.faults import series
from tests.faults import stories
from tests.functional import base
from tests.functional.moves import burials_base
from tests.functional.support import databases

OVER_QUOTA, UNBOUND = 'over quota', 'accelerator not bound'
_MANAGER = 'nova.conductor.manager.ComputeTaskManager'
_CLEAN_UP = f'{_MANAGER}._cleanup_build_artifacts'
# Where those are that Nova makes of a burial.
_STEPS_OF_NOVA = ('.bury_in_cell0', '.set_vm_state_and_notify')


class _UnsentMixin:

    options = {**series.Series.options, 'rebuild': 'never_launched'}

    def bury_one(self, story):
        """Extend: in these stories, it is the run that is to bury it."""
        if story not in (OVER_QUOTA, UNBOUND):
            return super().bury_one(story)
        self.have_capacity(True)
        server = self._build_server(networks=[{'port': stories.PORT}])
        server.update(tags=stories.TAGS, metadata=stories.METADATA)
        if story == UNBOUND:
            server['flavorRef'] = self._device_flavor
            self.cyborg.fail_to_bind()
        else:
            self.useFixture(base.Interception(
                burials_base.QUERY, before=lambda *args, **kwargs: self.flags(
                    instances=0, group='quota')))
        clean_up = manager.ComputeTaskManager._cleanup_build_artifacts

        def remember(*args, **kwargs):
            self.flags(instances=-1, group='quota')
            # What the conductor knows of the create is in its context.
            context = contextvars.copy_context()
            self._clean_up = lambda process: context.run(
                self._at_work, process, clean_up, *args, **kwargs)
        self._clean_up = None
        with fixtures.MonkeyPatch(_CLEAN_UP, remember):
            server = self.api.post_server({'server': server})
            self._wait_for_assert(lambda: self.assertIsNotNone(self._clean_up))
        return {**server, 'volume': None, 'request': {},
                'accelerators': int(story == UNBOUND)}

    def _at_work(self, process, function, *args, **kwargs):
        with process.working():
            function(*args, **kwargs)

    def run_rebuild(self, server, fault=None):
        """Replace: go on with the create, in the conductor."""
        with self.crossings.watching(fault) as run, (
                contextlib.suppress(boundaries.Killed)):
            self._clean_up(run.conductor)
        self._reset_fixture()
        return run, None

    def boundaries_of(self, story):
        """Replace: what a create without a fault crosses."""
        self.left_by_dead = self._left_by_a_dead_conductor(story)
        self.tolerated = self.left_by_dead
        for _ in range(2):
            server = self.bury_one(story)
            run, _ = self.run_rebuild(server)
            self.assertEqual('ERROR', self.check_shown(server))
            self._finish(server)
        series.check_databases_seen(self, run.crossed)
        return run.crossed

    def _left_by_a_dead_conductor(self, story):
        server = self.bury_one(story)
        self.delete(server)
        found = self._names_left(server)
        self.forget(server)
        # The rest is what one leaves that dies before it has a row in a cell,
        # or at the end of a burial.
        return found | {
            'orphans in api.instance_mappings',
            'orphans in api.request_specs', remains.BUILD_REQUEST,
            stories.LISTED}

    def _names_left(self, server):
        return remains.of(server['id']) | self.left_of(server)

    def check(self, server, fault, run, answer):
        """Replace: nobody has waited for an answer."""
        self.check_shown(server)

    def check_shown(self, server):
        """Replace: a row in cell0 may be listed before its build request goes.

        So it is for a moment in Nova's own burial.
        """
        response = self.api.api_request(f'/servers/{server["id"]}')
        listed = [shown['status'] for shown in self.api.get_servers()
                  if shown['id'] == server['id']]
        if response.status_code != 200 or len(listed) != 1:
            raise stories.Lost(
                f'GET answers {response.status_code}, the list {listed}')
        return response.json()['server']['status']

    def _then_delete(self, server):
        self.delete(server)
        if self._more_than_by_nova(server):
            self.recover(server)
            self.cleared = True
        if more := self._more_than_by_nova(server):
            raise stories.Problem(f'deleted, but left is {more}')

    def _more_than_by_nova(self, server):
        return self._names_left(server) - self._usual - self.tolerated

    def _then_recover(self, server):
        self.recover(server)
        if self.check_shown(server) == 'ERROR' and (
                databases.cell_of(server['id']) == 'cell0'):
            if databases.has_build_request(server['id']):
                self.assertIn('The burial of server', self.assert_refused(
                    409, server))
                databases.end_burial(server['id'])
            self.check_comes_back(server)
        self._then_delete(server)


class UnsentDiesTest(_UnsentMixin, series.Series):

    # What there is after a boundary is there before the next one, too: it
    # meets both endings.

    def test_over_quota_it_is_shown_and_comes_back_or_is_deleted(self):
        self.play_all(OVER_QUOTA, series.DELETE, series.RECOVER)

    def test_unbound_it_is_shown_and_comes_back_or_is_deleted(self):
        self.play_all(UNBOUND, series.DELETE, series.RECOVER)


class UnsentFailsTest(_UnsentMixin, errors.ErrorSeries):

    def check(self, server, fault, run, answer):
        """Extend: what fails once, and is no step of Nova, leaves nothing."""
        super().check(server, fault, run, answer)
        is_of_nova = fault.boundary.where.endswith(_STEPS_OF_NOVA)
        self.tolerated = self.left_by_dead if is_of_nova or (
            fault.times != errors.ONCE) else set()

    def test_over_quota_it_comes_back_or_is_deleted(self):
        self.play_all(OVER_QUOTA, series.DELETE, series.RECOVER)

    def test_unbound_it_comes_back_or_is_deleted(self):
        self.play_all(UNBOUND, series.DELETE, series.RECOVER)
