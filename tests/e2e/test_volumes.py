# SPDX-License-Identifier: Apache-2.0

"""Servers on volumes, whose data can be looked at."""

import hashlib
import re

from tests.e2e import base
from tests.e2e import clouds
from tools.cloud import contents

_PLAIN_REBUILD = ('--os-compute-api-version', clouds.ADDED, 'server',
                  'rebuild', '--wait')
_REBUILD = (*_PLAIN_REBUILD, '--reimage-boot-volume')
_MARK = b'what the owner has written'
_WHERE = 100000


class _VolumesTestCase(base.CloudTestCase):
    """Has a volume with an image and what its owner has written."""

    def setUp(self):
        super().setUp()
        self.volume = self.create_volume(
            image_id=self.image(contents.IMAGE))
        self.file = self.cloud.volume_file(self.volume.id)
        with self.file.open('r+b') as stream:
            stream.seek(_WHERE)
            stream.write(_MARK)
        self.root = {'block_device_mapping': [{
            'boot_index': 0, 'source_type': 'volume', 'uuid': self.volume.id,
            'destination_type': 'volume'}]}


class VolumesTestCase(_VolumesTestCase):

    def setUp(self):
        super().setUp()
        self.buried = self.bury(image_id='', **self.root)
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


class OwnImageTestCase(_VolumesTestCase):
    """Servers on volumes that have an image, which clients send."""

    def setUp(self):
        super().setUp()
        self.bytes = self.digest(self.volume.id)

    def test_the_image_of_a_server_on_a_volume_brings_all_that_was_on_it(
            self):
        self.cloud.only_hosts_in('cell1')
        server = self.create_server(image_id='', **self.root)
        self.wait_for('ACTIVE', server)
        image = self.create_image_of(server)
        self.cloud.only_hosts_in()
        buried = self.bury(image_id=self.image(image))
        self.cloud.only_hosts_in('cell1')

        self.cloud.run(*_PLAIN_REBUILD, buried)

        self.assertEqual('ACTIVE', self.server(buried).status)
        [made] = self.volumes_of(buried)
        self.assertNotEqual(self.volume.id, made)
        self.assertEqual(self.bytes, self.digest(made))

    def test_a_volume_beside_an_image_keeps_all_that_is_on_it(self):
        buried = self.bury(image_id=self.image(contents.OTHER_IMAGE),
                           **self.root)
        self.cloud.only_hosts_in('cell1')

        self.cloud.run(*_PLAIN_REBUILD, buried)

        self.assertEqual('ACTIVE', self.server(buried).status)
        self.assertEqual([self.volume.id], self.volumes_of(buried))
        self.assertEqual(self.bytes, self.digest(self.volume.id))

    def create_image_of(self, server):
        """Return the name of an image that a user makes of a server."""
        name = self.unique('image')
        self.addCleanup(self._delete_image, name)
        self.cloud.run('server', 'image', 'create', '--wait', '--name', name,
                       server)
        return name

    def _delete_image(self, name):
        api = self.user.block_storage
        [snapshot] = api.snapshots(volume_id=self.volume.id)
        for volume in api.volumes():
            if volume.snapshot_id == snapshot.id:
                self._delete_volume(volume)
        api.delete_snapshot(snapshot)
        api.wait_for_delete(snapshot, wait=60)
        self.user.image.delete_image(self.image(name))

    def volumes_of(self, server):
        """Return the IDs of the volumes of a server."""
        attachments = self.user.compute.volume_attachments(server)
        return [attachment.volume_id for attachment in attachments]

    def digest(self, volume):
        """Return a digest of all bytes of a volume."""
        with self.cloud.volume_file(volume).open('rb') as stream:
            return hashlib.file_digest(stream, 'sha256').hexdigest()
