# SPDX-License-Identifier: Apache-2.0

"""What the stand-in for Cinder of older releases lacks.

That of 26 and 27 patches with functions, where later ones have methods that
can be extended. That of 26 to 28 makes no volumes and has no snapshots.
"""

import fixtures
from nova import exception
from nova.tests import fixtures as nova_fixtures
from nova.volume import cinder
from oslo_utils import uuidutils


def _patch(fixture, name, replacement):
    fixture.useFixture(fixtures.MockPatch(
        f'nova.volume.cinder.API.{name}', side_effect=replacement))


def _method_of(name):
    def call(self, *args, **kwargs):
        return self._functions[name](None, *args, **kwargs)
    return call


class WithMethods(nova_fixtures.CinderFixture):
    """Extends that of 26 and 27 by the methods that others have."""

    _NAMES = ('get', 'get_all_volume_types', 'attachment_get',
              'attachment_create', 'attachment_update', 'attachment_complete',
              'attachment_delete', 'reimage_volume')

    for _name in _NAMES:
        vars()[f'fake_{_name}'] = _method_of(_name)

    def setUp(self):
        super().setUp()
        self._functions = {name: vars(cinder.API)[name]
                           for name in self._NAMES}
        for name in self._NAMES:
            _patch(self, name, getattr(self, f'fake_{name}'))

    def create_vol_attachment(self, volume_id, instance_id):
        """Reserve a volume, and do not tell Nova."""
        return self.fake_attachment_create(None, volume_id, instance_id)

    def _find_attachment(self, attachment_id):
        for volume_id, attachments in self.volume_to_attachment.items():
            if attachment_id in attachments:
                return volume_id, attachments[attachment_id], attachments
        raise exception.VolumeAttachmentNotFound(attachment_id=attachment_id)


class WithVolumes(
        nova_fixtures.CinderFixture
        if hasattr(nova_fixtures.CinderFixture, 'fake_get') else WithMethods):
    """Extends that of 26 to 28 by volumes that are made, and snapshots."""

    def __init__(self, test):
        super().__init__(test)
        self.volumes = {}
        self.volume_snapshots = {}

    def setUp(self):
        super().setUp()
        _patch(self, 'create', self.fake_vol_create)
        _patch(self, 'get_snapshot', self.fake_get_snapshot)
        _patch(self, 'create_snapshot_force', self.fake_create_snapshot_force)
        _patch(self, 'get_absolute_limits', lambda context: {
            'totalSnapshotsUsed': 0, 'maxTotalSnapshots': -1})

    def fake_get(self, context, volume_id, microversion=None):
        """Extend Nova's by the volumes that were made."""
        return {**super().fake_get(context, volume_id, microversion),
                **self.volumes.get(volume_id, {})}

    def fake_vol_create(self, context, size, *args, **kwargs):
        """Make a volume."""
        volume_id = uuidutils.generate_uuid()
        self.volumes[volume_id] = {'size': size, 'display_description': ''}
        return self.fake_get(context, volume_id)

    def fake_create_snapshot_force(self, context, volume_id, *args):
        """Make a snapshot."""
        snapshot_id = uuidutils.generate_uuid()
        self.volume_snapshots[snapshot_id] = {
            'id': snapshot_id, 'volume_id': volume_id}
        return self.volume_snapshots[snapshot_id]

    def fake_get_snapshot(self, context, snapshot_id):
        """Show a snapshot."""
        return self.volume_snapshots.get(snapshot_id)
