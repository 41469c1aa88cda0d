# SPDX-License-Identifier: Apache-2.0

"""A volume-backed server that has an image of its own."""

import copy

from oslo_utils import uuidutils

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import reimage_base

PROPERTIES = {'hw_disk_bus': 'ide'}


class OwnImageTestCase(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.stub_out(reimage_base.PAUSE, 0.1)
        self.cinder = self.useFixture(reimage_base.WritingCinder(self))
        self.snapshot = uuidutils.generate_uuid()
        self.cinder.volume_snapshots[self.snapshot] = {
            'id': self.snapshot, 'volume_id': cinder.ROOT, 'size': 1}
        self.own = self.new_image()
        self.other = self.new_image()

    def new_image(self, **properties):
        """Return the ID of an image that has data."""
        image = copy.deepcopy(self.glance.image1)
        image.update(id=uuidutils.generate_uuid(),
                     properties={**PROPERTIES, **properties})
        self.glance.create(None, image)
        return image['id']

    def image_of_a_server(self, **properties):
        """Return the ID of an image as Nova makes of a volume-backed server.

        It has no data: its root volume is made from a snapshot.
        """
        image_id = self.new_image(
            bdm_v2=True, root_device_name='/dev/vda', block_device_mapping=[{
                'source_type': 'snapshot', 'destination_type': 'volume',
                'snapshot_id': self.snapshot, 'boot_index': 0,
                'device_name': '/dev/vda', 'volume_size': 1}],
            **properties)
        self.glance.images[image_id].update(
            size=0, disk_format=None, container_format=None)
        return image_id

    def beside(self, **root):
        """Return the body of a server that has an image and a root volume."""
        return {'imageRef': self.own, 'block_device_mapping_v2': [{
            'boot_index': 0, 'destination_type': 'volume', **root}]}

    def on_volume(self):
        return self.beside(source_type='volume', uuid=cinder.ROOT)

    def launch(self, **body):
        """Create a server for which there is a host."""
        server = {**self._build_server(networks='none'), **body}
        server = self._wait_for_state_change(
            self.api.post_server({'server': server}), 'ACTIVE')
        self.cinder.status = 'in-use'
        return server

    def root(self, cell='cell0'):
        """Return the row of the root volume."""
        [row] = [row for row in databases.dump()[cell]['block_device_mapping']
                 if row['boot_index'] == 0 and not row['deleted']]
        return row

    def row(self, cell='cell0'):
        """Return the row of the only server that is in a cell."""
        [row] = databases.dump()[cell]['instances']
        return row

    def properties(self, cell='cell0'):
        """Return the image properties of the only server in a cell."""
        return {row['key']: row['value'] for row in
                databases.dump()[cell]['instance_system_metadata']
                if row['key'].startswith('image_')}
