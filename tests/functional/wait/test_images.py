# SPDX-License-Identifier: Apache-2.0

"""Where Nova's own microversion is used, a rebuild has to name the image."""

import datetime

from cinderclient import exceptions as cinder_exc
import ddt

from tests.functional import base
from tests.functional.volumes import volumes_base
from tests.functional.wait import keystone
from tests.functional.wait import sweeping

ROOT = {**volumes_base.VOLUME, 'uuid': 'volume', 'boot_index': 0}


@ddt.ddt
class ImagesTestCase(sweeping.SweepMixin, volumes_base.VolumesTestCase):

    options = {'api_microversion': base.STOCK}

    def setUp(self):
        super().setUp()
        self.fill()
        self.server = self.wait_for_room(**self.body([ROOT]))
        self.other = self.wait_for_room()
        self.make_room(5)

    def volume_is(self, found):
        """Have Cinder answer this, or fail."""
        def get(*args, **kwargs):
            if isinstance(found, Exception):
                raise found
            return found
        self.stub_out('nova.volume.cinder.API.get', get)

    @ddt.data(
        cinder_exc.Unauthorized(401, 'secret'),
        cinder_exc.EndpointNotFound('secret'), ValueError('secret'))
    def test_a_server_whose_image_cinder_does_not_tell_rests(self, error):
        self.volume_is(error)
        swept = self.sweeper.sweep()
        self.assertEqual([self.other['id']], self.asked())
        self.assertEqual({self.server['id']: 'blocked'}, self.codes(swept))
        self.assertEqual(
            ['blocked: It cannot be told now which image the server has.'],
            self.told(self.server))
        self.active(self.other)

    def test_a_server_without_an_image_is_not_asked_for(self):
        self.volume_is({})
        self.flags(order='fifo', group=keystone.GROUP)
        self.sweeper.sweep()
        self.assertEqual([self.other['id']], self.asked())
        self.assertIn('no image to keep', self.told(self.server)[0])
        self.active(self.other)

    def test_a_server_whose_volume_may_have_any_image_is_not_asked_for(self):
        # Cinder takes the order and writes nothing.
        self.rebuild(
            self.server, base.STOCK, imageRef=self.glance.image2['id'])
        self.buried_again(self.server)
        self.later = datetime.timedelta(minutes=2)
        self.sweeper.sweep()
        self.assertEqual([self.other['id']], self.asked())
        [told] = self.told(self.server)
        self.assertTrue(told.startswith('blocked: An image was to be written'))
        self.assertIn('Name the image that the server', told)
        self.active(self.other)


class OwnImageTest(sweeping.SweepMixin, volumes_base.VolumesTestCase):

    options = {'api_microversion': base.STOCK}

    def test_a_server_is_asked_for_with_the_image_that_it_shows(self):
        shown = self.glance.image2['id']
        self.fill()
        server = self.wait_for_room(
            **{**self.body([ROOT]), 'imageRef': shown})
        self.make_room(5)
        self.sweeper.sweep()
        self.assertEqual([server['id']], self.asked())
        self.assertEqual(shown, self.active(server)['image']['id'])
        self.assertNotIn('reimage', str(self.cinder.calls))
