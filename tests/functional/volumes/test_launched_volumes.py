# SPDX-License-Identifier: Apache-2.0

"""Launched volume-backed servers are rebuilt as Nova rebuilds them.

What Nova itself does is asked of it with the package off and on; both must
give the same.
"""

from cinderclient import exceptions as cinder_exception

from tests.functional import base
from tests.functional import cinder
from tests import releases

FAILED = 'Failed to rebuild volume backed instance.'


class LaunchedTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))
        self.cinder.reimage = self.write
        self.image = self.cinder.fake_get(None, cinder.ROOT)[
            'volume_image_metadata']['image_id']
        self.other = self.glance.auto_disk_config_enabled_image['id']
        self.data = 'of the owner'
        self._start_compute('host1')
        server = self._build_server(networks='none')
        server.update(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'uuid': cinder.ROOT, 'source_type': 'volume',
            'destination_type': 'volume'}])
        self.server = self._wait_for_state_change(
            self.api.post_server({'server': server}), 'ACTIVE')
        self.cinder.calls.clear()

    def write(self, volume_id, image_id):
        """Overwrite the volume, and tell Nova of it, as Cinder does."""
        self.data = image_id
        self.tell_nova(volume_id, 'completed')

    def tell_nova(self, volume_id, status):
        with self.microversion_is('2.93'):
            self.api.create_server_external_events([{
                'name': 'volume-reimaged', 'tag': volume_id,
                'server_uuid': self.server['id'], 'status': status}])

    def rebuilt(self, status='ACTIVE'):
        """Wait until the rebuild has ended, in a status."""
        server = self._wait_for_server_parameter(
            self.server, {'status': status, 'OS-EXT-STS:task_state': None})
        self.assertEqual('rebuild', self.actions(self.server)[-1][0])
        return server

    def calls(self):
        """Return the names of what was asked of Cinder."""
        return [name for name, _id in self.cinder.calls]


class StockMixin:
    """What Nova does, from the microversions that it has."""

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


class WithoutPackageTest(StockMixin, LaunchedTestCase):

    enabled = False


class WithPackageTest(StockMixin, LaunchedTestCase):
    """The same with the package."""


class AddedMicroversionTest(LaunchedTestCase):

    def test_without_an_image_its_owner_keeps_the_data(self):
        self.rebuild(self.server)
        self.rebuilt()
        self.assertEqual('of the owner', self.data)
        self.assertNotIn('reimage', self.calls())
        self.assertEqual(
            [cinder.ROOT], list(self.cinder.volume_ids_for_instance(
                self.server['id'])))

    def test_a_volume_without_an_image_is_400_without_one(self):
        self.cinder.fixed[cinder.ROOT] = {'volume_image_metadata': {}}
        error = self.assert_refused(400, self.server)
        self.assertIn('has no image to keep', error)
        self.assertEqual([], self.cinder.calls)

    def test_any_image_overwrites_the_volume_as_in_nova(self):
        for image in (self.other, self.image):
            self.rebuild(self.server, imageRef=image)
            self.rebuilt()
            self.assertEqual(image, self.data)
