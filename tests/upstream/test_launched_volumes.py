# SPDX-License-Identifier: Apache-2.0

"""How Nova itself rebuilds launched volume-backed servers."""

from cinderclient import exceptions as cinder_exception

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.volumes import launched_base
from tests import releases

FAILED = 'Failed to rebuild volume backed instance.'


class LaunchedVolumesTest(launched_base.LaunchedTestCase):
    """What Nova does, from the microversions that it has."""

    # The suite enables it around each test, or not.
    enabled = False

    def assert_overwritten(self, image, microversion):
        self.data = 'of the owner'
        self.cinder.calls.clear()
        [before] = self.cinder.attachments(cinder.ROOT)
        self.rebuild(self.server, microversion, imageRef=image)
        self.rebuilt()
        self.assertEqual(image, self.data)
        [after] = self.cinder.attachments(cinder.ROOT)
        self.assertNotEqual(before, after)
        self.assertEqual(
            [('attachment_delete', before), ('reimage', cinder.ROOT)],
            [call for call in self.cinder.calls
             if call[0] in ('attachment_delete', 'reimage')])

    def test_any_image_overwrites_the_volume_from_293_on(self):
        self.assert_overwritten(self.other, '2.93')
        self.assert_overwritten(self.other, base.STOCK)
        self.assert_overwritten(self.image, base.STOCK)

    def test_another_image_is_400_before_293(self):
        error = self.assert_refused(
            400, self.server, '2.92', imageRef=self.other)
        self.assertIn('Unable to rebuild with a different image', error)
        self.assertEqual([], self.cinder.calls)
        self.assertEqual('ACTIVE', self.api.get_server(
            self.server['id'])['status'])

    def test_its_own_image_keeps_the_data_before_293(self):
        self.rebuild(self.server, '2.92', imageRef=self.image)
        self.rebuilt()
        self.assertEqual('of the owner', self.data)
        self.assertNotIn('reimage', self.calls())

    def assert_ends_in_error(self, *calls):
        """Check how Nova ends a rebuild at which Cinder fails."""
        self.rebuild(self.server, '2.93', imageRef=self.other)
        server = self.rebuilt('ERROR')
        self.assertEqual('error', server['OS-EXT-STS:vm_state'])
        self.assertIn(FAILED, server['fault']['message'])
        self.assertEqual('host1', server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(list(calls), self.calls())
        # The conductor's event is a success, the compute's is not.
        self.assertEqual(
            ('rebuild', ['Error', 'Success']), self.actions(self.server)[-1])

    def refuse(self, method, code):
        def refused(*args, **kwargs):
            raise cinder_exception.ClientException(code)
        self.stub_out(f'nova.volume.cinder.API.{method}', refused)

    def test_a_refused_reservation_ends_in_error(self):
        [attachment] = self.cinder.attachments(cinder.ROOT)
        self.refuse('attachment_create', 400)
        self.assert_ends_in_error()
        self.assertEqual(
            [attachment], self.cinder.attachments(cinder.ROOT))
        self.assertEqual('of the owner', self.data)

    def test_a_refused_reimage_ends_in_error(self):
        def refuse(volume_id, image_id):
            raise cinder_exception.ClientException(409)
        self.cinder.reimage = refuse
        self.assert_ends_in_error(
            'attachment_create', 'attachment_delete', 'reimage')
        self.assertEqual('of the owner', self.data)

    def test_a_failed_reimage_ends_in_error(self):
        self.cinder.reimage = lambda volume_id, image_id: (
            self.tell_nova(volume_id, 'failed'))
        self.assert_ends_in_error(
            'attachment_create', 'attachment_delete', 'reimage')

    @releases.needs('event_timeout')
    def test_a_reimage_that_never_ends_ends_in_error(self):
        self.flags(reimage_timeout_per_gb=1)
        self.cinder.reimage = lambda volume_id, image_id: None
        self.assert_ends_in_error(
            'attachment_create', 'attachment_delete', 'reimage')
