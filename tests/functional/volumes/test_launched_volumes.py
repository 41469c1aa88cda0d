# SPDX-License-Identifier: Apache-2.0

"""Launched volume-backed servers are rebuilt as Nova rebuilds them.

What Nova itself does is in :mod:`tests.upstream.test_launched_volumes`.
"""

from tests.functional.support import cinder
from tests.functional.volumes import launched_base


class AddedMicroversionTest(launched_base.LaunchedTestCase):

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
