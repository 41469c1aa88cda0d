# SPDX-License-Identifier: Apache-2.0

"""A root volume to come keeps its type, which says if it is encrypted."""

import ddt

from tests.functional.support import cinder
from tests.functional.volumes import volumes_base

NEW_ROOT = {**volumes_base.NEW, 'boot_index': 0}
FROM_SNAPSHOT = {**NEW_ROOT, 'source_type': 'snapshot', 'uuid': 'snapshot'}
FROM_IMAGE = {**NEW_ROOT, 'source_type': 'image', 'uuid': 'image'}
BLANK = {**NEW_ROOT, 'source_type': 'blank'}


@ddt.ddt
class RootTest(volumes_base.VolumesTestCase):

    def setUp(self):
        super().setUp()
        self.cinder.types = ['luks', 'asked']
        # Of the volume that the snapshot was made of.
        self.cinder.fixed[cinder.ROOT] = {'volume_type_id': 'luks'}
        self.new = {'imageRef': self.glance.image2['id']}
        self.own = self.glance.image3['id']

    def root(self, cell, server):
        """Return the row of the volume of a server."""
        [bdm] = [bdm for bdm in self.bdms(cell, server)
                 if bdm['destination_type'] == 'volume']
        return bdm

    def made_as(self, server, **body):
        """Return the type and the image of the root of the rebuilt server."""
        self._start_compute('host1')
        self.rebuild(server, **body)
        self.active(server)
        bdm = self.root('cell1', server)
        volume = self.cinder.volumes[bdm['volume_id']]
        return volume['volume_type_id'], bdm['image_id']

    def bury_from_image_of_type(self, volume_type):
        self.glance.images[self.image]['properties'][
            'cinder_img_volume_type'] = volume_type
        return self.bury_with(FROM_IMAGE)

    def test_it_is_that_of_the_snapshot_without_another_image(self):
        server = self.bury_with(FROM_SNAPSHOT)
        self.assertEqual(('luks', None), self.made_as(server))

    def test_with_another_image_it_is_that_of_the_snapshot_still(self):
        server = self.bury_with(FROM_SNAPSHOT)
        self.assertEqual(
            ('luks', self.new['imageRef']),
            self.made_as(server, **self.new))

    @ddt.data({}, {'imageRef': True})
    def test_after_a_rebuild_that_found_no_host_it_is_so_still(self, body):
        server = self.bury_with(FROM_SNAPSHOT)
        self.rebuild(server, **self.new)
        self.buried_again(server)
        self.assertEqual(
            ('luks', self.new['imageRef']),
            self.made_as(server, **(self.new if body else {})))

    def test_one_that_was_asked_for_is_kept(self):
        for device in (FROM_SNAPSHOT, FROM_IMAGE, BLANK):
            server = self.bury_with({**device, 'volume_type': 'asked'})
            self.rebuild(server, **self.new)
            self.buried_again(server)
            bdm = self.root('cell0', server)
            self.assertEqual(
                ('asked', 'image'), (bdm['volume_type'], bdm['source_type']))

    def test_one_that_its_former_image_asks_for_is_kept(self):
        server = self.bury_from_image_of_type('luks')
        del self.glance.images[self.image]
        self.assertEqual(
            ('luks', self.new['imageRef']),
            self.made_as(server, **self.new))

    def bury_beside(self, device, **types):
        """Bury a server with an image beside its root volume.

        :param types: the types that the server's and the volume's image say.
        """
        for image_id, volume_type in types.items():
            self.glance.images[getattr(self, image_id)]['properties'][
                'cinder_img_volume_type'] = volume_type
        return self.bury(**{
            **self.body([device]), 'imageRef': self.own})

    def test_it_is_that_of_the_image_of_the_volume_not_of_the_server(self):
        server = self.bury_beside(FROM_IMAGE, image='luks', own='asked')
        self.assertEqual(
            ('luks', self.new['imageRef']),
            self.made_as(server, **self.new))

    def test_a_blank_one_beside_an_image_has_not_the_type_of_that(self):
        server = self.bury_beside(BLANK, own='asked')
        self.assertEqual(
            (None, self.new['imageRef']),
            self.made_as(server, **self.new))

    def test_the_image_of_a_volume_that_is_gone_and_cannot_tell_it_is_400(
            self):
        server = self.bury_beside(FROM_IMAGE, image='luks')
        del self.glance.images[self.image]
        self.assertIn(self.image, self.assert_refused_without_trace(
            400, server, **self.new))

    def test_a_snapshot_that_is_gone_and_cannot_tell_it_is_400(self):
        server = self.bury_with(FROM_SNAPSHOT)
        self.cinder.volume_snapshots.clear()
        self.assertIn(self.snapshot, self.assert_refused_without_trace(
            400, server, **self.new))

    def test_a_type_that_is_gone_is_400(self):
        server = self.bury_from_image_of_type('luks')
        self.cinder.types.remove('luks')
        self.assertIn('luks', self.assert_refused_without_trace(
            400, server, **self.new))
