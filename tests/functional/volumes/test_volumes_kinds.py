# SPDX-License-Identifier: Apache-2.0

"""Every kind of block device comes back with a buried server."""

import ddt
import fixtures
from oslo_utils.fixture import uuidsentinel
import sqlalchemy as sa

from tests.functional.support import cinder
from tests.functional.volumes import volumes_base
from tests.functional.volumes.volumes_base import DATA
from tests.functional.volumes.volumes_base import NEW
from tests.functional.volumes.volumes_base import NEW_DATA
from tests.functional.volumes.volumes_base import VOLUME

BLANK = {'source_type': 'blank', 'destination_type': 'local'}
SHARED = {**VOLUME, 'uuid': cinder.CinderFixture.MULTIATTACH_VOL}
# Block devices of a server. What a test fills in: "image", "snapshot" and
# "volume" as uuid. Those that have no root of their own get a local one.
KINDS = {
    'a root volume, with one that is shared': [
        {**DATA, 'boot_index': 0}, SHARED],
    'a root volume from an image': [
        {**NEW, 'source_type': 'image', 'uuid': 'image', 'boot_index': 0}],
    'a root volume from a snapshot, with local disks': [
        {**NEW, 'source_type': 'snapshot', 'uuid': 'snapshot',
         'boot_index': 0},
        {**BLANK, 'guest_format': 'ext4', 'volume_size': 1},
        {**BLANK, 'guest_format': 'swap', 'volume_size': 1}],
    'data volumes with all that can be said of them': [
        {**DATA, 'tag': 'db', 'boot_index': 1, 'disk_bus': 'scsi',
         'device_type': 'disk', 'delete_on_termination': True},
        {**NEW, 'source_type': 'blank', 'tag': 'log', 'boot_index': -1,
         'disk_bus': 'virtio', 'delete_on_termination': True},
        *NEW_DATA],
}

# What tells two servers of the same kind apart.
OWN = ('id', 'uuid', 'instance_uuid', 'volume_id', 'attachment_id',
       'connection_info', 'created_at', 'updated_at')


class ReverseOrder(fixtures.Fixture):
    """Has SQLite reverse the rows of a SELECT without ORDER BY."""

    def _setUp(self):
        arguments = (sa.engine.Engine, 'before_cursor_execute', self._reverse)
        sa.event.listen(*arguments)
        self.addCleanup(sa.event.remove, *arguments)

    def _reverse(self, connection, cursor, *args):
        cursor.execute('PRAGMA reverse_unordered_selects = ON')


@ddt.ddt
class KindsTest(volumes_base.VolumesTestCase):

    @ddt.data(*KINDS)
    def test_it_gets_what_a_server_gets_that_found_a_host(self, kind):
        server = self.bury_with(*KINDS[kind])
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertEqual([], self.bdms('cell0', server))
        twin = self._build_server(networks='none')
        twin.update(self.body(
            KINDS[kind], volume=uuidsentinel.another_volume))
        twin = self._wait_for_state_change(
            self.api.post_server({'server': twin}), 'ACTIVE')
        self.assertEqual(
            self._without_own(twin), self._without_own(server))

    def _without_own(self, server):
        rows = self.bdms('cell1', server)
        self.assertNotEqual([], rows)
        return [{name: bool(value) if name in OWN else value
                 for name, value in row.items()} for row in rows]


class ReservationTest(volumes_base.VolumesTestCase):

    def test_its_reservations_are_kept_to_the_end(self):
        server = self.bury_with(
            {**DATA, 'boot_index': 0}, SHARED,
            {**VOLUME, 'uuid': uuidsentinel.data})
        reserved = self._attachments(self.bdms('cell0', server))
        self.assertEqual(
            [('attachment_create', attachment) for attachment in reserved],
            self.cinder.calls)
        self.assertEqual(3, len(reserved))
        self.rebuild(server)
        self.buried_again(server)
        self._start_compute('host1')
        self.cinder.calls.clear()
        self.rebuild(server)
        self.active(server)
        self.assertEqual(
            [(method, attachment) for attachment in reserved
             for method in ('attachment_update', 'attachment_complete')],
            self.cinder.calls)
        self.assertEqual(
            reserved, self._attachments(self.bdms('cell1', server)))
        self.assertEqual(
            sorted(reserved), sorted(
                self.cinder.attachment_ids_for_instance(server['id'])))

    def test_a_volume_that_another_has_too_stays_with_both(self):
        server, other = self.bury_with(SHARED), self.bury_with(SHARED)
        before = [self.cinder.attachment_ids_for_instance(found['id'])
                  for found in (server, other)]
        self.assertEqual([1, 1], [len(found) for found in before])
        self._start_compute('host1')
        for rebuilt in (server, other):
            self.rebuild(rebuilt)
            self.active(rebuilt)
            self.assertEqual(before, [
                self.cinder.attachment_ids_for_instance(found['id'])
                for found in (server, other)])

    def test_no_volume_is_made_before_there_is_a_host(self):
        server = self.bury_with(*NEW_DATA)
        self.rebuild(server)
        self.buried_again(server)
        self.assertEqual([], self.cinder.calls)
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertEqual(
            3, [name for name, _id in self.cinder.calls].count('create'))

    def test_two_volumes_of_a_server_keep_their_places(self):
        # A database gives rows without ORDER BY in any order.
        self.useFixture(ReverseOrder())
        volumes = [uuidsentinel.first, uuidsentinel.second]
        server = self.bury_with(*(
            {**VOLUME, 'uuid': volume} for volume in volumes))
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        rows = sorted(self.bdms('cell1', server),
                      key=lambda row: row['device_name'])
        self.assertEqual(volumes, [
            row['volume_id'] for row in rows if row['volume_id']])

    def _attachments(self, rows):
        return [row['attachment_id'] for row in rows if row['attachment_id']]
