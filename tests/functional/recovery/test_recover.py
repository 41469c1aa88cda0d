# SPDX-License-Identifier: Apache-2.0

"""Every state in which a crash can leave a rebuild, mended."""

import ddt

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support.recovering import crash
from tests.functional.support.recovering import fail


@ddt.ddt
class CrashTest(recover_base.RecoverTestCase):

    @ddt.data(
        ('scheduler', recovering.SCHEDULER, 'before', 'on its way'),
        ('claim', recovering.SCHEDULER, 'after', 'on its way'),
        ('row', recovering.TAGS, 'before', 'on its way'),
        ('hand_over', recovering.HAND_OVER, 'before', 'on its way'),
        ('cast', recovering.CAST, 'before', 'not built'))
    @ddt.unpack
    def test_a_conductor_that_died_at(self, _name, step, when, state):
        self.rebuild_until(step, **{when: crash})
        self.assert_recovered(state)
        self.assert_can_be_rebuilt()

    def test_a_message_that_was_lost_buries_it_again(self):
        self.rebuild(self.server, name='asked')
        self.assert_recovered('on its way')
        server = self.api.get_server(self.server['id'])
        # No conductor has accepted what was asked for.
        self.assertEqual(self.server['name'], server['name'])
        self.assertIn('Rebuild it again', server['fault']['message'])
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error'])],
            self.actions(self.server))

    def test_an_api_that_died_before_it_had_hidden_the_row(self):
        self.useFixture(base.Interception(
            recovering.HIDE, before=crash))
        self.assertRaises(recovering.Crash, self.rebuild, self.server)
        self.assertEqual([False], databases.hidden(self.server['id']))
        self.assert_recovered('on its way')
        self.assert_can_be_rebuilt()

    def test_a_conductor_that_died_after_the_cast_is_finished_for(self):
        self.rebuild_until(recovering.FINISH, before=crash, name='asked')
        self._wait_for_state_change(self.server, 'ACTIVE')
        self._check_finished()

    def test_a_conductor_that_died_at_the_last_step_is_finished_for(self):
        self.rebuild_until(recovering.FORGET, before=crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        self._check_finished()

    def _check_finished(self):
        allocations = self._get_allocations_by_server_uuid(self.server['id'])
        self.assertIsNotNone(databases.spec_of(self.server['id']).retained)
        code, found = recovering.recover()
        self.assertEqual((0, 'built'), (code, found[
            self.server['id']]['state']))
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])
        self.assertEqual(
            allocations,
            self._get_allocations_by_server_uuid(self.server['id']))
        self.assertEqual((0, {}), recovering.recover())

    def test_a_change_from_after_the_hand_over_is_carried_over(self):
        instance = databases.in_cell0(self.server['id'])
        self.rebuild_until(recovering.FINISH, before=crash)
        self._wait_for_state_change(self.server, 'ACTIVE')
        instance.locked = True
        instance.locked_by = 'admin'
        instance.save()
        recovering.recover()
        self.assertTrue(self.active(self.server)['locked'])

    def test_what_the_request_changed_survives_a_crash_at_the_cast(self):
        self.rebuild_until(recovering.CAST, before=crash, name='asked')
        self.assert_recovered('not built')
        self.assertEqual(
            'asked', self.api.get_server(self.server['id'])['name'])

    @ddt.data(
        ('show', recovering.SHOW, 'on its way'),
        ('back', recovering.BACK, 'on its way'),
        ('remove', recovering.REMOVE, 'leftovers'))
    @ddt.unpack
    def test_a_conductor_that_died_burying_it_again_at(
            self, _name, step, state):
        self.useFixture(base.Interception(recovering.TAGS, before=fail))
        self.rebuild_until(step, before=crash)
        self.assert_recovered(state)
        self.assert_can_be_rebuilt()

    @ddt.data(
        ('remove', recovering.REMOVE), ('show', recovering.SHOW))
    @ddt.unpack
    def test_a_conductor_that_died_taking_it_out_of_a_cell_at(
            self, _name, step):
        self.useFixture(base.Interception(recovering.CAST, before=fail))
        self.rebuild_until(step, before=crash)
        self.assert_recovered('hidden')
        self.assert_can_be_rebuilt()

