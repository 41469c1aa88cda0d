# SPDX-License-Identifier: Apache-2.0

"""A buried volume-backed server, and a Cinder that writes images."""

from tests.functional import base
from tests.functional import cinder
from tests.functional import databases

VOLUME = cinder.ROOT


class WritingCinder(cinder.CinderFixture):
    """Extends Nova's stand-in by what Cinder does with an image."""

    def __init__(self, test):
        super().__init__(test)
        self.image = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
        self.status = 'reserved'
        self.refusal = None
        self.lost = None
        self.written = []
        self.ends = 'reserved'
        self.hiccups = []

    def fake_get(self, context, volume_id, microversion=None):
        volume = super().fake_get(context, volume_id, microversion)
        if self.status == 'downloading' and self.hiccups:
            raise self.hiccups.pop()
        if volume_id == VOLUME:
            volume['volume_image_metadata'] = {'image_id': self.image}
            volume['status'], self.status = self.status, (
                self.ends if self.status == 'downloading' else self.status)
        return volume

    def fake_reimage_volume(
            self, context, volume_id, image_id, reimage_reserved=False):
        if self.refusal:
            raise self.refusal
        self.written.append((volume_id, image_id, reimage_reserved))
        self.status = 'downloading'
        if self.ends == 'reserved':
            self.image = image_id
        if self.lost:
            raise self.lost


class ReimageTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.stub_out('cell0_rebuild.conductor.reimage._PAUSE', 0.1)
        self.cinder = self.useFixture(WritingCinder(self))
        self.new = self.glance.image2['id']
        self.server = self.bury_root(source_type='volume', uuid=VOLUME)
        self._start_compute('host1')

    def bury_root(self, **bdm):
        return self.bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'destination_type': 'volume', **bdm}])

    def root(self, cell):
        """Return the row of the only block device mapping in a cell."""
        [bdm] = databases.dump()[cell]['block_device_mapping']
        return bdm

    def assert_as_it_was(self, before):
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        self.assertEqual([], self.cinder.written)
