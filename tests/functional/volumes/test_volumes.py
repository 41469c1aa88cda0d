# SPDX-License-Identifier: Apache-2.0

"""A buried volume-backed server is rebuilt with its volumes."""

from oslo_utils.fixture import uuidsentinel

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import recovering

VOLUME = cinder.ROOT


class VolumesTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.CinderFixture(self))

    def bury_from(self, **bdm):
        """Bury a server whose root is a volume."""
        return self.bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'destination_type': 'volume', **bdm}])

    def bdms(self, cell):
        return databases.dump()[cell]['block_device_mapping']

    def test_a_root_volume_keeps_its_reservation_and_is_attached(self):
        server = self.bury_from(uuid=VOLUME, source_type='volume')
        [before] = self.bdms('cell0')
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        [after] = self.bdms('cell1')
        self.assertEqual(
            (VOLUME, before['uuid']), (after['volume_id'], after['uuid']))
        self.assertEqual(
            [after['attachment_id']],
            list(self.cinder.volume_to_attachment[VOLUME]))

    def test_a_root_volume_is_made_from_the_image(self):
        server = self.bury_from(
            uuid=self.glance.image1['id'], source_type='image',
            volume_size=1)
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        [bdm] = self.bdms('cell1')
        self.assertIsNotNone(bdm['volume_id'])
        self.assertEqual([], self.bdms('cell0'))

    def test_deleted_on_its_way_its_reservation_goes(self):
        server = self.bury_from(uuid=VOLUME, source_type='volume')
        self.stub_out(recovering.REQUEST, lambda *args: None)
        self.rebuild(server)
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual({}, dict(self.cinder.volume_to_attachment[VOLUME]))

    def test_another_project_may_not_have_a_volume_made(self):
        server = self.bury_from(
            uuid=self.glance.image1['id'], source_type='image',
            volume_size=1)
        admin = base.api_client.TestOpenStackClient(
            'admin', self.api.base_url,
            project_id=uuidsentinel.operators, roles=['admin'])
        self.api = admin
        error = self.assert_refused(409, server)
        self.assertIn('would be made in your project', error)
