# SPDX-License-Identifier: Apache-2.0

"""A burial is not through when the owner asks again.

Neither of the two attempts changes what is the other's.
"""

import contextlib
import pkgutil
import threading
import time

from nova import context as nova_context
from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids

from cell0_rebuild import exceptions
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests import releases

_PATIENCE = 30


class LaterAttemptTest(recover_base.RecoverTestCase):

    def setUp(self):
        super().setUp()
        self.late.let_through()
        self.removing, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)
        self.useFixture(base.Interception(
            recovering.REMOVE, before=self.stop, is_certain=False))

    def stop(self, *args, **kwargs):
        """Stop the burial before it removes a row in a real cell."""
        self.removing.set()
        self.go_on.wait(_PATIENCE)

    def go_on_at_last(self):
        """Let the burial go on when the next attempt has a row, or waits."""
        end = time.monotonic() + 10
        while time.monotonic() < end and not (
                databases.dump()['cell1']['instances']):
            time.sleep(0.2)
        self.go_on.set()

    def test_a_request_that_read_it_before_does_not_hide_it_for_good(self):
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))

        is_removing = []

        def rebuild_first(*args, **kwargs):
            self.rebuild(self.server)
            is_removing.append(self.removing.wait(_PATIENCE))
            # The burial holds the mapping until it is removed.
            threading.Timer(1, self.go_on.set).start()
        self.useFixture(base.Interception(
            recovering.ASK, before=rebuild_first))
        status = 'ACTIVE'
        try:
            # It comes when the burial has ended.
            self.rebuild(self.server)
        except base.api_client.OpenStackApiException as error:
            self.assertEqual(409, error.response.status_code)
            status = 'ERROR'
        self.assertEqual([True], is_removing)
        self._wait_for_assert(
            lambda: self.assert_shown_once(self.server['id'], status))

    def test_a_request_that_stalls_hides_no_server_of_a_later_one(self):
        self.go_on.set()
        hide, begun = pkgutil.resolve_name(recovering.HIDE), []
        both, one = threading.Event(), threading.Event()
        self.addCleanup(one.set)
        later = threading.Thread(target=self.try_to_rebuild)

        def hide_late(*args):
            begun.append(args)
            if len(begun) == 1:
                # An operator takes it for dead.
                recovering.recover(self.server['id'])
                later.start()
                both.wait(_PATIENCE)
            elif len(begun) == 2:
                both.set()
                one.wait(_PATIENCE)
            return hide(*args)
        self.stub_out(recovering.HIDE, hide_late)
        self.try_to_rebuild()
        one.set()
        later.join(_PATIENCE)
        self.assertEqual(2, len(begun))
        self._wait_for_assert(
            lambda: self.assert_shown_once(self.server['id'], 'ERROR'))
        self.rebuild(self.server)
        self.active(self.server)

    def test_one_that_has_ended_is_not_taken_for_a_later_one(self):
        self.go_on.set()
        sent = []

        def answer_late(*args):
            sent.append(args)
            if len(sent) == 1:
                # The conductor that takes it dies.
                recovering.recover(self.server['id'])
                self.rebuild(self.server)
                raise exceptions.NoConductor('no answer')
            return True
        self.stub_out(recovering.REQUEST, answer_late)
        self.assert_refused(409, self.server)
        self.assertEqual(2, len(sent))
        self.assert_shown_once(self.server['id'], 'BUILD')

    def try_to_rebuild(self):
        """Ask for a rebuild that may be refused."""
        with contextlib.suppress(base.api_client.OpenStackApiException):
            self.rebuild(self.server)

    def test_a_row_of_a_stale_conductor_does_not_get_the_server(self):
        self.go_on.set()
        uuid, failures = self.server['id'], [recovering.lose_database]

        def create_another(*args, **kwargs):
            if failures:
                # SQLite gives the ID of a deleted row again.
                self.create_row('cell1', uuids.other)
                self.create_row('cell1', uuid)
                failures.pop()()
        self.useFixture(base.Interception(
            recovering.CAST, before=recovering.fail))
        self.useFixture(base.Interception(
            recovering.CLEAR_CELLS, before=create_another))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(uuid, 'ERROR')
        self._wait_for_assert(lambda: self.assertEqual([uuids.other], [
            row['uuid'] for row in databases.dump()['cell1']['instances']]))

    def create_row(self, name, uuid):
        """Create another row of a server in a real cell."""
        context = nova_context.get_admin_context()
        with nova_context.target_cell(
                context, self.cell_mappings[name]) as cctxt:
            objects.Instance(
                cctxt, uuid=uuid, user_id='user', project_id='project',
                vm_state='building', system_metadata={}).create()

    @releases.needs('write_lock')
    def test_a_burial_that_is_tried_again_leaves_the_row_of_the_next(self):
        self.useFixture(base.Interception(
            'nova.objects.Instance.create', before=recovering.fail))
        self.useFixture(base.Interception(
            recovering.BACK, after=recovering.lose_database))
        conductor = races_base.HeldHandOver()
        self.rebuild(self.server)
        self.assertTrue(self.removing.wait(_PATIENCE))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.useFixture(conductor)
        waiting = threading.Thread(target=self.go_on_at_last)
        waiting.start()
        conductor.rebuild(self)
        waiting.join(_PATIENCE)
        self.assertEqual(1, len(databases.dump()['cell1']['instances']))
        conductor.goes_on.set()
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
