# SPDX-License-Identifier: Apache-2.0

"""A conductor or nova-api is at work on what is being mended."""

from oslo_messaging import exceptions as messaging_exc

from tests.functional import base
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.functional.support import reimage_base



class RebuildTest(recover_base.RecoverTestCase):

    def test_a_reply_that_is_lost_after_the_end_does_no_harm(self):
        def lose(*args, **kwargs):
            self.active(self.server)
            raise messaging_exc.MessagingTimeout('lost')
        self.late.let_through()
        self.useFixture(base.Interception(recovering.REQUEST, after=lose))
        self.rebuild(self.server)
        self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')


class ReimageTest(reimage_base.ReimageTestCase):

    def test_recovered_before_the_conductor_accepts_it_it_stays_buried(self):
        hook = self.useFixture(base.Interception(
            recovering.ACCEPT,
            before=lambda *args, **kwargs: recovering.recover()))
        self.rebuild(self.server, imageRef=self.new)
        self.buried_again(self.server)
        self.assertEqual([], hook.waiting())
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))
        self.assertNotIn('The rebuild failed', self.stdlog.logger.output)
        self.rebuild(self.server, imageRef=self.new)
        self.active(self.server)
