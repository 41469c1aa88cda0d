# SPDX-License-Identifier: Apache-2.0

"""A launched server that has an image on its root volume."""

from tests.functional import base
from tests.functional.support import cinder


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
