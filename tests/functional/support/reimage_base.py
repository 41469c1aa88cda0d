# SPDX-License-Identifier: Apache-2.0

"""A buried volume-backed server, and a Cinder that writes images."""

import contextlib

from nova import exception

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases

VOLUME = cinder.ROOT
# Between two looks at a volume.
PAUSE = 'cell0_rebuild.conductor.reimage._PAUSE'
# What is on a volume whose write has begun and not ended well.
HALF = 'half an image'


class WritingCinder(cinder.CinderFixture):
    """Extends Nova's stand-in by what Cinder does with an image.

    As Cinder, it sets a volume to ``downloading`` before it answers. What it
    says of the image is that of the last write that ended well.

    :ivar image: what it says is on the volume.
    :ivar content: what is on it: an image, or HALF of one.
    :ivar status: of the volume, unless a server uses it.
    :ivar size: of the volume, in GiB.
    :ivar multiattach: many servers may have it.
    :ivar refusal: what is raised in place of taking an order.
    :ivar lost: what is raised after an order was taken.
    :ivar late: what is raised while an order is on its way; see
        :meth:`arrive`.
    :ivar written: the orders that were taken.
    :ivar ends: the status in which a write ends; all but the one that the
        volume had is a failure.
    :ivar hiccups: what is raised, or called, for each look while it writes,
        the last first.
    """

    def __init__(self, test):
        super().__init__(test)
        self.size = 1
        self.multiattach = False
        self.refusal = self.lost = self.late = None
        self.written = []
        self.hiccups = []
        self.begin_anew()

    def begin_anew(self):
        """Have an image on the volume, which is reserved for a server."""
        self.image = self.content = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
        self.status = self.ends = 'reserved'
        self._on_its_way = []

    def fake_get(self, context, volume_id, microversion=None):
        if self.status == 'downloading' and self.hiccups:
            hiccup = self.hiccups.pop()
            if isinstance(hiccup, Exception):
                raise hiccup
            hiccup()
        volume = super().fake_get(context, volume_id, microversion)
        if volume_id == VOLUME:
            volume['volume_image_metadata'] = {'image_id': self.image}
            volume.update(status=self._shown(), size=self.size,
                          multiattach=self.multiattach)
            self.go_on()
        return volume

    def fake_reimage_volume(
            self, context, volume_id, image_id, reimage_reserved=False):
        if self.refusal:
            raise self.refusal
        if self.late:
            self._on_its_way.append((volume_id, image_id, reimage_reserved))
            raise self.late
        self._begin(volume_id, image_id, reimage_reserved)
        if self.lost:
            raise self.lost

    def put_right(self, ends='reserved'):
        """Set a volume to reserved, as an operator does.

        :param ends: the status in which the next write ends.
        """
        self.status, self.ends = 'reserved', ends

    def arrive(self):
        """Let the orders arrive that were late; Cinder may refuse them."""
        while self._on_its_way:
            with contextlib.suppress(exception.InvalidInput):
                self._begin(*self._on_its_way.pop(0))

    def go_on(self):
        """End a write that is in progress."""
        if self.status == 'downloading':
            self.status = self.ends
            if self.ends == 'reserved':
                self.image = self.content = self.written[-1][1]

    def _begin(self, volume_id, image_id, reimage_reserved):
        if self._shown() not in ('available', 'error', 'reserved'):
            raise exception.InvalidInput(
                reason=f'Volume {volume_id} status must be available or error '
                       f'or reserved, but current status is {self._shown()}.')
        self.written.append((volume_id, image_id, reimage_reserved))
        self.status, self.content = 'downloading', HALF

    def _shown(self):
        is_used = any(attachment['connector'] for attachment in
                      self.volume_to_attachment[VOLUME].values())
        return 'in-use' if is_used else self.status


class ReimageTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.stub_out(PAUSE, 0.1)
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
        self.assertEqual([], databases.differences_but_age(
            before, databases.dump()))
        self.assertEqual([], self.cinder.written)
