# SPDX-License-Identifier: Apache-2.0

"""Nova's stand-in for Cinder, with a memory and Cinder's refusals."""

import copy

import fixtures
from nova import exception
from nova.tests import fixtures as nova_fixtures
from oslo_utils import uuidutils

from tests.functional.support import older_cinder

CinderFixture = (
    nova_fixtures.CinderFixture
    if hasattr(nova_fixtures.CinderFixture, 'fake_vol_create')
    else older_cinder.WithVolumes)
ROOT = CinderFixture.IMAGE_BACKED_VOL


class Cinder(CinderFixture):
    """Remembers what changed a volume.

    :ivar calls: what changed a volume or an attachment, as ``(method, ID)``,
        the ID being that of the attachment, or else of the volume.
    :ivar fixed: fields that a volume is shown with, by its ID.
    :ivar deleted: volumes that are no more.
    :ivar connected: whether reservations are shown as connected to a host.
    :ivar types: the names of the volume types.
    :ivar reimage: called for a re-image with the volume and the image.
    """

    def __init__(self, test):
        super().__init__(test)
        self.calls = []
        self.fixed = {}
        self.deleted = set()
        self.types = ['lvm-1']
        self.connected = False
        self.reimage = lambda volume_id, image_id: None

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'nova.volume.cinder.API.delete', self._delete))

    def state(self):
        """Return a copy of all that somebody could have changed."""
        return copy.deepcopy((
            self.calls, self.volumes, dict(self.volume_to_attachment)))

    def attachments(self, volume_id):
        """Return the IDs of the attachments of a volume."""
        return list(self.volume_to_attachment[volume_id])

    def add_snapshot(self):
        """Return the ID of a new snapshot of a bootable volume."""
        snapshot_id = uuidutils.generate_uuid()
        self.volume_snapshots[snapshot_id] = {
            'id': snapshot_id, 'volume_id': ROOT, 'size': 1}
        return snapshot_id

    def fake_get(self, context, volume_id, microversion=None):
        """Extend Nova's, to which every volume exists."""
        if volume_id in self.deleted:
            raise exception.VolumeNotFound(volume_id=volume_id)
        volume = super().fake_get(context, volume_id, microversion)
        return {**volume, **self.fixed.get(volume_id, {})}

    def fake_get_snapshot(self, context, snapshot_id):
        """Extend Nova's by Cinder's 404."""
        if snapshot_id not in self.volume_snapshots:
            raise exception.SnapshotNotFound(snapshot_id=snapshot_id)
        return super().fake_get_snapshot(context, snapshot_id)

    def fake_get_all_volume_types(self, *args, **kwargs):
        """Replace Nova's, which has one for ever."""
        return [{'id': name, 'name': name} for name in self.types]

    def fake_attachment_get(self, context, attachment_id):
        """Extend Nova's by what Cinder, and Nova's client, tell of it.

        What the client tells is in the connection information once there
        is one.
        """
        volume_id, attachment, _ = self._find_attachment(attachment_id)
        found = super().fake_attachment_get(context, attachment_id)
        if not self.connected:
            found['connection_info'] = {}
        (found['connection_info'] if self.connected else found).update(
            instance=attachment['instance_uuid'], volume_id=volume_id)
        return found

    def fake_attachment_create(self, context, volume_id, *args, **kwargs):
        """Extend Nova's to remember it."""
        attachment = super().fake_attachment_create(
            context, volume_id, *args, **kwargs)
        self.calls.append(('attachment_create', attachment['id']))
        return attachment

    def fake_attachment_update(
        self, context, attachment_id, connector, mountpoint=None,
    ):
        """Extend Nova's to remember it."""
        self.calls.append(('attachment_update', attachment_id))
        return super().fake_attachment_update(
            context, attachment_id, connector, mountpoint)

    def fake_attachment_complete(self, context, attachment_id):
        """Extend Nova's to remember it."""
        self.calls.append(('attachment_complete', attachment_id))
        super().fake_attachment_complete(context, attachment_id)

    def fake_attachment_delete(self, context, attachment_id):
        """Extend Nova's to remember it."""
        self.calls.append(('attachment_delete', attachment_id))
        super().fake_attachment_delete(context, attachment_id)

    def fake_vol_create(self, *args, **kwargs):
        """Extend Nova's to remember it, and the type that was asked for."""
        volume = super().fake_vol_create(*args, **kwargs)
        self.volumes[volume['id']]['volume_type_id'] = kwargs.get(
            'volume_type')
        self.calls.append(('create', volume['id']))
        return volume

    def fake_reimage_volume(
        self, context, volume_id, image_id, reimage_reserved=False,
    ):
        """Replace Nova's, which knows one volume only."""
        self.calls.append(('reimage', volume_id))
        self.reimage(volume_id, image_id)

    def _delete(self, api, context, volume_id):
        self.calls.append(('delete', volume_id))
        self.deleted.add(volume_id)
