# SPDX-License-Identifier: Apache-2.0

"""A rebuild or a change meets the command that mends servers."""

from nova import context as nova_context
from nova.db.main import models
from nova import exception
from nova import objects

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import failing
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering


class RecoverRaceTest(recover_base.RecoverTestCase):

    def test_one_that_gets_to_a_cell_just_then_is_recovered(self):
        self.useFixture(base.Interception(
            recovering.TAKE_OVER, before=self._go_on))
        self.rebuild(self.server)
        self.assert_recovered('on its way')
        self.assert_can_be_rebuilt()

    def _go_on(self, *args, **kwargs):
        """Have the conductor create the server in its cell, and die there."""
        self.useFixture(base.Interception(
            recovering.HAND_OVER, before=recovering.crash))
        self.late.deliver()
        self.assertEqual(1, len(databases.dump()['cell1']['instances']))

    def update_during(self, write):
        """Have a server renamed just before it is recovered.

        :param write: writes the build request.
        """
        self.rebuild(self.server)
        update = objects.BuildRequest.get_by_instance_uuid(
            nova_context.get_admin_context(), self.server['id'])
        update.instance.display_name = 'renamed'
        self.useFixture(base.Interception(
            recovering.BACK, before=lambda *args: write(update)))
        code, found = recovering.recover()
        return code, found[self.server['id']]['result']

    def assert_renamed(self):
        self.assertEqual(
            'renamed', self.api.get_server(self.server['id'])['name'])

    def test_an_update_just_then_does_not_undo_it(self):
        self.assertEqual(
            (0, 'mended'),
            self.update_during(lambda update: update.save()))
        self.assert_renamed()

    def test_an_update_by_a_stock_nova_api_does_not_undo_it_either(self):
        self.assertEqual(
            (0, 'mended'), self.update_during(databases.store))
        self.assert_renamed()

    def test_one_whose_rebuild_begins_just_then_is_seen_as_it_is_by_then(self):
        self.late.let_through()
        conductor = self.useFixture(races_base.HeldHandOver())
        self.useFixture(base.Interception(
            recovering.FIND,
            before=lambda *args, **kwargs: conductor.rebuild(self)))
        code, found = recovering.recover(self.server['id'])
        self.assertEqual(
            (0, 'not built'), (code, found[self.server['id']]['state']))
        conductor.goes_on.set()
        self._wait_for_assert(self.assert_buried)

    def test_one_that_it_buries_before_its_row_is_hidden_is_shown(self):
        self.late.let_through()
        self.useFixture(base.Interception(
            recovering.HIDE,
            before=lambda *args: recovering.recover()))
        self.assert_refused(409, self.server)
        self.assert_buried()
        self.assert_can_be_rebuilt()

    def test_a_stale_conductor_leaves_the_mapping_of_one(self):
        self.rebuild_until(
            recovering.CHECK,
            after=lambda *args, **kwargs: recovering.recover())
        self.assert_buried()
        self.assert_can_be_rebuilt()

    def test_one_that_a_compute_takes_is_in_one_cell(self):
        self.late.let_through()
        conductor = self.useFixture(races_base.HeldHandOver())
        conductor.rebuild(self)

        def build(*args, **kwargs):
            conductor.goes_on.set()
            self._wait_for_assert(lambda: self.assertEqual(
                ['active'], [row['vm_state'] for row in
                             databases.dump()['cell1']['instances']]))
        self.useFixture(base.Interception(
            recovering.REMOVE, before=build))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])


class FailedBuildRaceTest(recover_base.NewVolumeTestCase):

    def assert_failed_build_stays(self, step):
        """Have a compute abort a build just before a step of the burial."""
        builds = self.useFixture(failing.FailingBuilds())
        self.late.let_through()
        conductor = self.useFixture(races_base.HeldHandOver())
        conductor.rebuild(self)
        # As a site has it with show = build.
        databases.update('cell0', models.Instance, self.server['id'],
                         vm_state='building')

        def build(*args, **kwargs):
            with builds.failing(exception.BuildAbortException(
                    instance_uuid=self.server['id'], reason='no')):
                conductor.goes_on.set()
                self._wait_for_assert(self.assert_build_ended)
        self.useFixture(base.Interception(step, before=build))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'built'), (code, found[self.server['id']]['state']))
        self.assertEqual('cell1', databases.cell_of(self.server['id']))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertIn('no', self.api.get_server(
            self.server['id'])['fault']['message'])

    def test_one_whose_build_fails_before_its_burial_stays_in_its_cell(self):
        self.assert_failed_build_stays(recovering.BURY)

    def test_one_whose_build_fails_in_its_burial_stays_in_its_cell(self):
        self.assert_failed_build_stays(recovering.REMOVE)
