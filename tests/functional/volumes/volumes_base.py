# SPDX-License-Identifier: Apache-2.0

"""A buried server with any block devices."""

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases

VOLUME = {'source_type': 'volume', 'destination_type': 'volume'}
LOCAL_ROOT = {'source_type': 'image', 'destination_type': 'local',
              'boot_index': 0}
NEW = {'destination_type': 'volume', 'volume_size': 1}
DATA = {**VOLUME, 'uuid': 'volume'}
NEW_DATA = [{**NEW, 'source_type': 'image', 'uuid': 'image'},
            {**NEW, 'source_type': 'snapshot', 'uuid': 'snapshot'},
            {**NEW, 'source_type': 'blank', 'volume_type': 'lvm-1'}]


class VolumesTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))
        self.image = self.glance.image1['id']
        self.snapshot = self.cinder.add_snapshot()
        self.flavor_id = self._create_flavor(ephemeral=1, swap=1024)

    def body(self, devices, volume=cinder.ROOT):
        """Return the body of a create with these block devices."""
        given = {'volume': volume, 'image': self.image,
                 'snapshot': self.snapshot}
        devices = [
            {**device, 'uuid': given.get(device['uuid'], device['uuid'])}
            if 'uuid' in device else device for device in devices]
        image = {'imageRef': ''}
        if not any(device.get('boot_index') == 0 for device in devices):
            image = {'imageRef': self.glance.image1['id']}
            devices = [{**LOCAL_ROOT, 'uuid': image['imageRef']}, *devices]
        return {**image, 'flavorRef': self.flavor_id,
                'block_device_mapping_v2': devices}

    def bury_with(self, *devices, **kwargs):
        """Bury a server with these block devices."""
        return self.bury(**self.body(devices, **kwargs))

    def bdms(self, cell, server):
        """Return the rows of a server, as they were asked for."""
        return [row for row in databases.dump()[cell]['block_device_mapping']
                if row['instance_uuid'] == server['id']]
