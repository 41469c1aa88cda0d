# SPDX-License-Identifier: Apache-2.0

"""Servers on volumes, whose data can be looked at."""

import re

from tests.e2e import base
from tests.e2e import clouds
from tools.cloud import contents

_REBUILD = ('--os-compute-api-version', clouds.ADDED, 'server', 'rebuild',
            '--reimage-boot-volume', '--wait')
_MARK = b'what the owner has written'
_WHERE = 100000


class VolumesTestCase(base.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.volume = self.create_volume(
            image_id=self.image(contents.IMAGE))
        self.file = self.cloud.volume_file(self.volume.id)
        with self.file.open('r+b') as stream:
            stream.seek(_WHERE)
            stream.write(_MARK)
        self.buried = self.bury(image_id='', block_device_mapping=[{
            'boot_index': 0, 'source_type': 'volume', 'uuid': self.volume.id,
            'destination_type': 'volume'}])
        self.cloud.only_hosts_in('cell1')

    def test_another_image_replaces_what_is_on_a_root_volume(self):
        self.cloud.run(*_REBUILD, '--image', contents.OTHER_IMAGE,
                       self.buried)
        self._assert_content(contents.OTHER_IMAGE, b'\0' * len(_MARK))
        self._assert_in_use(contents.OTHER_IMAGE)

    def test_what_cinder_says_of_a_root_volume_is_no_error(self):
        cinder = self.watch_log('cinder-volume', ' ERROR ')
        self.accept_rebuild(self.buried, imageRef=self.image(
            contents.OTHER_IMAGE))
        self.wait_for('ACTIVE', self.buried)
        event = 'volume-reimaged'
        self.assertIn(event, cinder.text)
        [answer] = re.findall(
            r'POST /v2.1/os-server-external-events => .* \(HTTP/1.1 (\d+)\)',
            self.nova_log.text)
        self.assertEqual('207', answer)

    def test_the_same_image_keeps_what_is_on_a_root_volume(self):
        self.cloud.run(*_REBUILD, '--image', contents.IMAGE, self.buried)
        self._assert_content(contents.IMAGE, _MARK)
        self._assert_in_use(contents.IMAGE)

    def _assert_content(self, image, marked):
        with self.file.open('rb') as stream:
            self.assertEqual(f'{image} '.encode(),
                             stream.read(len(image) + 1))
            stream.seek(_WHERE)
            self.assertEqual(marked, stream.read(len(_MARK)))

    def _assert_in_use(self, image):
        self.assertEqual('ACTIVE', self.server(self.buried).status)
        volume = self.user.block_storage.get_volume(self.volume.id)
        self.assertEqual(
            ('in-use', self.buried, self.image(image)),
            (volume.status, volume.attachments[0]['server_id'],
             volume.volume_image_metadata['image_id']))
