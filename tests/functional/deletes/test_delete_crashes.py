# SPDX-License-Identifier: Apache-2.0

"""A server is deleted around the death of a process."""

import contextlib
import io

import fixtures
from nova.cmd import manage
from nova import context as nova_context
from nova.db.main import api as main_db_api

from cell0_rebuild import cells
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering


class DeadConductorTest(races_base.RaceTestCase):

    def die_before_the_hand_over(self):
        """Have the server rebuilt until it has its rows in its cell."""
        self.stub_out(recovering.HAND_OVER, recovering.crash)
        self.rebuild(self.server)
        self._wait_for_assert(lambda: self.assertEqual(
            1, len(databases.dump()['cell1']['block_device_mapping'])))
        self.assert_shown_once(self.server['id'], 'BUILD')

    def test_a_delete_after_its_conductor_has_died_leaves_no_row(self):
        self.die_before_the_hand_over()
        self.api.delete_server(self.server['id'])
        self.assert_gone()
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_a_delete_after_its_conductor_has_died_leaves_no_ghost(self):
        self.die_before_the_hand_over()
        self.configure_cell0()
        self.api.delete_server(self.server['id'])
        self.assert_gone()

    def configure_cell0(self):
        """Have nova-api's own database be cell0, as outside of tests."""
        fixture = main_db_api.get_context_manager.__self__
        cell0 = cells.cell0(nova_context.get_admin_context())
        fixture._default_ctxt_mgr = fixture._last_ctxt_mgr = (
            fixture._ctxt_mgrs[cell0.database_connection])


class RecoveredTest(recover_base.RecoverTestCase):

    def test_an_api_that_died_in_a_delete_leaves_nothing(self):
        self.rebuild(self.server)
        self.useFixture(base.Interception(
            recovering.CLEAR, before=recovering.crash))
        self.assertRaises(
            recovering.Crash, self.api.delete_server, self.server['id'])
        self.assertEqual([True], databases.hidden(self.server['id']))
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'deleted'), (code, found[self.server['id']]['state']))
        self.assert_gone()
        self.assertEqual([], databases.dump()['cell0']['instances'])

    def test_an_api_that_died_at_the_end_of_a_delete_leaves_nothing(self):
        self.useFixture(base.Interception(
            'nova.objects.instance.Instance.destroy',
            before=recovering.crash))
        self.assertRaises(
            recovering.Crash, self.api.delete_server, self.server['id'])
        self.assert_ghost_removed()
        self.assertEqual([self.server['id']], [
            row['uuid'] for row in databases.dump()['cell0']['instances']])

    def test_deleted_after_a_crash_in_its_burial_nothing_is_left(self):
        self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.fail))
        self.rebuild_until(recovering.REMOVE, before=recovering.crash)
        self.api.delete_server(self.server['id'])
        self.assertEqual([], self.api.get_servers())
        self.assertEqual((0, {}), recovering.recover())

    def test_deleted_by_a_nova_without_us_it_is_removed(self):
        self.useFixture(base.Interception(
            recovering.HIDE, before=recovering.crash))
        self.assertRaises(recovering.Crash, self.rebuild, self.server)
        with fixtures.MonkeyPatch(recovering.CLEAR,
                                  lambda *args: None):
            self.api.delete_server(self.server['id'])
        self.assertEqual([self.server['id']], [
            server['id'] for server in self.api.get_servers()])
        self.assert_ghost_removed()

    def assert_ghost_removed(self):
        code, found = recovering.recover()
        self.assertEqual(
            (0, 'deleted'), (code, found[self.server['id']]['state']))
        self.assert_gone()

    def test_a_recovered_server_can_be_deleted(self):
        self.rebuild_until(recovering.TAGS, before=recovering.crash)
        recovering.recover()
        self.assert_buried()
        self.api.delete_server(self.server['id'])
        self.assert_gone()


class LateClaimTest(recover_base.RecoverTestCase):
    """The call of a conductor that died is left for a nova-scheduler."""

    def test_a_claim_for_a_deleted_server_is_found_by_the_audit_of_nova(self):
        calls = []

        def lose(client, *args, **kwargs):
            calls.append(lambda: client.select_destinations(*args, **kwargs))
            recovering.crash()
        self.rebuild_until(recovering.SCHEDULER, before=lose)
        self.api.delete_server(self.server['id'])
        self.assertEqual(0, recovering.recover()[0])
        [answer] = calls
        answer()
        self.assertNotEqual({}, self._claimed())
        self.assertEqual((0, {}), recovering.recover())
        self.assertNotEqual({}, self._claimed())
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(3, manage.PlacementCommands().audit())
            self.assertEqual(4, manage.PlacementCommands().audit(delete=True))
        self.assertEqual({}, self._claimed())

    def _claimed(self):
        return self._get_allocations_by_server_uuid(self.server['id'])
