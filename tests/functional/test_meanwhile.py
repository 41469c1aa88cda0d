# SPDX-License-Identifier: Apache-2.0

"""An owner, a conductor or nova-api is at work on what is being mended."""

import contextlib

from oslo_messaging import exceptions as messaging_exc

from tests.functional import base
from tests.functional import recovering
from tests.functional import reimage_base

SEIZE = 'cell0_rebuild.move.api_db.seize'
BURY = 'cell0_rebuild.move.reburial.bury_again'
REMAP = 'cell0_rebuild.move.api_db.remap'
IS_THERE = 'cell0_rebuild.move.cell0_db.is_there'
ACCEPT = 'cell0_rebuild.move.api_db.accept'
REQUEST = 'cell0_rebuild.rpcapi.RebuildAPI.rebuild_instance_in_cell0'


class DeleteTest(recovering.RecoverTestCase):

    def assert_gone(self):
        """Check that there is nothing for a recovery, too."""
        super().assert_gone()
        self.assertEqual((0, {}), recovering.recover())

    @contextlib.contextmanager
    def deleted_before(self, step):
        """Have the owner delete the server before the next such call."""
        hook = self.useFixture(base.Interception(
            step, before=lambda *args, **kwargs: self.api.delete_server(
                self.server['id'])))
        yield
        self.assertEqual([], hook.waiting())
        self.assert_gone()

    def test_deleted_before_a_recovery_takes_it_it_stays_deleted(self):
        self._recover_deleted_before(SEIZE)

    def test_deleted_when_a_recovery_has_taken_it_it_stays_deleted(self):
        self._recover_deleted_before(BURY)

    def _recover_deleted_before(self, step):
        self.rebuild(self.server)
        with self.deleted_before(step):
            self.assertEqual(0, recovering.recover()[0])

    def test_deleted_before_a_conductor_takes_it_back_it_stays_deleted(self):
        self._fail_deleted_before(REMAP)

    def test_deleted_when_it_is_back_in_cell0_it_stays_deleted(self):
        self._fail_deleted_before(IS_THERE)

    def _fail_deleted_before(self, step):
        with self.deleted_before(step):
            self.rebuild_until(recovering.CAST, before=recovering.fail)


class RebuildTest(recovering.RecoverTestCase):

    def test_a_reply_that_is_lost_after_the_end_does_no_harm(self):
        def lose(*args, **kwargs):
            self.active(self.server)
            raise messaging_exc.MessagingTimeout('lost')
        self.late.let_through()
        self.useFixture(base.Interception(REQUEST, after=lose))
        self.rebuild(self.server)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')


class ReimageTest(reimage_base.ReimageTestCase):

    def test_recovered_before_the_conductor_accepts_it_it_stays_buried(self):
        hook = self.useFixture(base.Interception(
            ACCEPT, before=lambda *args, **kwargs: recovering.recover()))
        self.rebuild(self.server, imageRef=self.new)
        self.buried_again(self.server)
        self.assertEqual([], hook.waiting())
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assertNotIn('The rebuild failed', self.stdlog.logger.output)
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
