# SPDX-License-Identifier: Apache-2.0

"""A DELETE meets whoever takes a rebuild back: nothing of the server stays."""

import threading

import ddt
from nova import exception
from nova.tests.functional.api import client
import oslo_messaging as messaging

from tests.functional.support import archiving
from tests.functional import base
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.support import reimage_base

DESTROY = 'nova.objects.instance.Instance.destroy'
FILE = [{'path': '/etc/secret', 'contents': 'c2VjcmV0'}]


class _Mixin:

    def delete_before(self, step):
        """Have the owner delete the server before the next such call."""
        return self.useFixture(base.Interception(
            step, before=lambda *args, **kwargs: self.api.delete_server(
                self.server['id'])))

    def assert_nothing_stays(self):
        """Check that what Nova archives is all that is left of the server."""
        self._wait_until_deleted(self.server)
        self.assertEqual([], self.api.get_servers())
        archiving.assert_archived(self, self.server['id'])
        self.assertEqual((0, {}), recovering.recover())

    def assert_not_found(self):
        """Check that the rebuild says that there is no such server."""
        self.assertRaises(client.OpenStackApiNotFoundException,
                          self.rebuild, self.server)


@ddt.ddt
class TakenBackTest(_Mixin, races_base.RaceTestCase):
    """nova-api takes a rebuild back by itself."""

    options = {'personality_files': 'persist'}

    def bury(self, **body):
        """Extend: with a file that is retained."""
        return super().bury('2.42', personality=FILE, **body)

    def let_no_conductor_answer(self, before=lambda: None):
        """Have the message for a conductor be lost."""
        def lose(*args, **kwargs):
            before()
            raise messaging.MessagingTimeout()
        self.stub_out(recovering.REQUEST, lose)

    def test_deleted_between_the_move_and_the_hiding_nothing_stays(self):
        hook = self.delete_before(recovering.HIDE)
        self.assert_refused(409, self.server)
        self.assertEqual([], hook.waiting())
        self.assert_nothing_stays()

    def test_deleted_while_no_conductor_answers_nothing_stays(self):
        self.let_no_conductor_answer(
            before=lambda: self.api.delete_server(self.server['id']))
        self.assert_not_found()
        self.assert_nothing_stays()

    @ddt.data(recovering.BURY, recovering.BACK)
    def test_deleted_just_before_it_is_buried_again_nothing_stays(self, step):
        self.let_no_conductor_answer()
        hook = self.delete_before(step)
        self.assert_not_found()
        self.assertEqual([], hook.waiting())
        self.assert_nothing_stays()


class RefusedByCinderTest(_Mixin, reimage_base.ReimageTestCase):
    """A conductor takes a rebuild back that Cinder refuses."""

    def test_deleted_just_before_it_is_buried_again_nothing_stays(self):
        self.cinder.refusal = exception.InvalidVolume(reason='no')
        hook = self.delete_before(recovering.BURY)
        self.assert_refused(400, self.server, imageRef=self.new)
        self.assertEqual([], hook.waiting())
        self.assert_nothing_stays()


class BuriedAgainTest(_Mixin, base.FunctionalTestCase):
    """A conductor buries a server again, and is not done with it."""

    def test_deleted_in_cell0_meanwhile_nothing_stays(self):
        self.server = self.bury()
        marked, erased = threading.Event(), threading.Event()

        def delete(*args):
            self.useFixture(base.Interception(DESTROY, before=wait))
            self.deleting = threading.Thread(
                target=self.api.delete_server, args=[self.server['id']])
            self.deleting.start()
            self.assertTrue(marked.wait(20))

        def wait(*args, **kwargs):
            marked.set()
            erased.wait(20)
        self.useFixture(base.Interception(
            recovering.ERASE, before=delete,
            after=lambda *args: erased.set()))
        self.rebuild(self.server)
        self.assertTrue(erased.wait(20))
        self.deleting.join(20)
        self.assert_nothing_stays()
