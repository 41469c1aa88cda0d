# SPDX-License-Identifier: Apache-2.0

"""What a guest finds that is started by a rebuild, told by itself.

It runs under libvirt, and tools/cloud/guest/init is all that it does.
"""

import base64

from tests.e2e import guests_base
from tests.integration import processes
from tools.cloud import contents

_IMAGE, _OTHER_IMAGE = contents.GUEST_IMAGES
_MARK = b'what the owner has written'
_WHERE = 50
_NOVAS = '2.93'


def _begin_of(image):
    """Return how the disk of an image begins."""
    return (f'{image} '.encode() * _WHERE)[:_WHERE]


class GuestTestCase(guests_base.GuestTestCase):

    def test_it_has_what_its_owner_gave_to_a_buried_server(self):
        key = self.user.compute.create_keypair(name=self.unique('key'))
        self.addCleanup(self.user.compute.delete_keypair, key)
        answer = self.user.compute.post('/servers', microversion='2.56', json={
            'server': {
                'name': self.unique('server'), 'networks': 'none',
                'imageRef': self.image(_IMAGE),
                'flavorRef': self.user.compute.find_flavor('small').id,
                'key_name': key.name, 'metadata': {'purpose': 'proof'},
                'user_data': base64.b64encode(b'#!run').decode(),
                'personality': [{
                    'path': '/etc/motd',
                    'contents': base64.b64encode(b'welcome').decode()}]}})
        buried = answer.json()['server']['id']
        self.addCleanup(self.delete_server, buried)
        self.wait_for('ERROR', buried)
        self.cloud.only_real_guests()

        self.accept_rebuild(buried)

        told = self.told(buried)
        metadata = told.pop('metadata')
        self.assertEqual(
            (buried, self.server(buried).name, {'purpose': 'proof'},
             {key.name: key.public_key.strip()}, ['/etc/motd']),
            (metadata['uuid'], metadata['name'], metadata['meta'],
             {name: text.strip() for name, text in
              metadata['public_keys'].items()},
             [file['path'] for file in metadata['files']]))
        self.assertEqual(
            {'user_data': b'#!run', 'content/0000': b'welcome',
             'vda': _begin_of(_IMAGE)},
            {name: data[:_WHERE] for name, data in told.items()})

    def test_it_comes_back_by_itself_when_another_is_deleted(self):
        self.cloud.only_real_guests()
        first = self.create_server(image_id=self.image(_IMAGE))
        self.wait_for('ACTIVE', first)
        buried = self.bury(image_id=self.image(_IMAGE), metadata={
            'cell0_rebuild_wait': '2h'})

        self.delete_server(first)

        self.assertEqual(buried, self.told(buried)['metadata']['uuid'])


class GuestOnVolumesTestCase(guests_base.GuestTestCase):

    def test_it_runs_on_a_volume_made_from_an_image(self):
        buried = self.bury_guest(image_id='', block_device_mapping=[{
            'boot_index': 0, 'source_type': 'image', 'volume_size': 1,
            'uuid': self.image(_IMAGE), 'destination_type': 'volume',
            'delete_on_termination': True}])
        self.accept_rebuild(buried)
        self.assertEqual(_begin_of(_IMAGE), self.told(buried)['vda'][:_WHERE])

    def test_it_runs_on_a_volume_made_from_a_snapshot(self):
        volume = self.create_marked_volume()
        api = self.user.block_storage
        snapshot = api.create_snapshot(volume_id=volume.id)
        self.addCleanup(api.wait_for_delete, snapshot, wait=60)
        self.addCleanup(api.delete_snapshot, snapshot)
        api.wait_for_status(snapshot, 'available', wait=60)
        buried = self.bury_guest(image_id='', block_device_mapping=[{
            'boot_index': 0, 'source_type': 'snapshot', 'volume_size': 1,
            'uuid': snapshot.id, 'destination_type': 'volume',
            'delete_on_termination': True}])
        self.accept_rebuild(buried)
        self.assert_marked(self.told(buried)['vda'])

    def test_it_runs_on_the_volumes_of_its_owner(self):
        root, second = (self.create_marked_volume() for _ in range(2))
        buried = self.bury_guest(image_id='', block_device_mapping=[
            *self.on(root), {
                'boot_index': -1, 'source_type': 'volume', 'uuid': second.id,
                'destination_type': 'volume'}])
        self.accept_rebuild(buried)
        told = self.told(buried)
        self.assert_marked(told['vda'])
        self.assert_marked(told['vdb'])

    def test_it_runs_on_a_volume_that_gets_another_image(self):
        root = self.create_marked_volume()
        buried = self.bury_guest(
            image_id='', block_device_mapping=self.on(root))
        self.accept_rebuild(buried, imageRef=self.image(_OTHER_IMAGE))
        self.assertEqual(
            _begin_of(_OTHER_IMAGE), self.told(buried)['vda'][:_WHERE])

    def test_nova_gives_another_image_to_the_volume_of_one_that_runs(self):
        root = self.create_marked_volume()
        self.cloud.only_real_guests()
        server = self.create_server(
            image_id='', block_device_mapping=self.on(root))
        self.assert_marked(self.told(server)['vda'])
        answer = self.rebuild(server, _NOVAS, imageRef=self.image(
            _OTHER_IMAGE))
        self.assertEqual(202, answer.status_code, answer.text)
        processes.poll(lambda: self.server(server).task_state is None,
                       'the end of the rebuild', 120)
        self.assertEqual(
            _begin_of(_OTHER_IMAGE), self.told(server)['vda'][:_WHERE])

    def create_marked_volume(self):
        """Return a volume with an image and what its owner has written."""
        volume = self.create_volume(image_id=self.image(_IMAGE))
        with self.cloud.volume_file(volume.id).open('r+b') as stream:
            stream.seek(_WHERE)
            stream.write(_MARK)
        return volume

    def assert_marked(self, begin):
        """Check what a guest told of such a volume."""
        self.assertEqual(_begin_of(_IMAGE) + _MARK,
                         begin[:_WHERE + len(_MARK)])

    def on(self, volume):
        """Return the block device mapping of a root volume."""
        return [{'boot_index': 0, 'source_type': 'volume', 'uuid': volume.id,
                 'destination_type': 'volume'}]
