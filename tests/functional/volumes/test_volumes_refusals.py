# SPDX-License-Identifier: Apache-2.0

"""Volumes that vanished refuse a rebuild; what is deleted goes with it."""

from nova import exception
from oslo_utils.fixture import uuidsentinel

from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.support import recovering
from tests.functional.volumes import volumes_base


ROOT = {**volumes_base.DATA, 'boot_index': 0}


class VanishedTest(volumes_base.VolumesTestCase):

    def assert_refused_without_trace(self, code, server, reason):
        """Check the reason, too, and what Cinder was asked for."""
        volumes = self.cinder.state()
        self.assertIn(
            reason, super().assert_refused_without_trace(code, server))
        self.assertEqual(volumes, self.cinder.state())

    def test_a_volume_that_is_gone_is_400(self):
        for device in (ROOT, volumes_base.DATA):
            volume = uuidsentinel.root if device is ROOT else cinder.ROOT
            server = self.bury_with(device, volume=volume)
            self.cinder.deleted.add(volume)
            self.assert_refused_without_trace(400, server, volume)

    def test_a_volume_that_somebody_reset_is_400(self):
        for device in (ROOT, volumes_base.DATA):
            server = self.bury_with(device)
            [attachment] = self.cinder.attachments(cinder.ROOT)
            self.cinder.volume_to_attachment[cinder.ROOT].clear()
            self.assertEqual('available', self.cinder.fake_get(
                None, cinder.ROOT)['status'])
            self.assert_refused_without_trace(400, server, attachment)

    def test_a_volume_that_another_server_has_by_now_is_400(self):
        server = self.bury_with(volumes_base.DATA)
        [attachment] = self.cinder.attachments(cinder.ROOT)
        self.cinder.volume_to_attachment[cinder.ROOT].clear()
        self.cinder.create_vol_attachment(
            cinder.ROOT, uuidsentinel.another_server)
        self.assert_refused_without_trace(400, server, attachment)

    def test_an_attachment_of_another_server_is_400(self):
        server = self.bury_with(volumes_base.DATA)
        [attachment] = self.cinder.attachments(cinder.ROOT)
        self.cinder.volume_to_attachment[cinder.ROOT][attachment][
            'instance_uuid'] = uuidsentinel.another_server
        for is_connected in (False, True):
            self.cinder.connected = is_connected
            self.assert_refused_without_trace(400, server, attachment)

    def test_a_volume_that_another_server_holds_as_well_is_400(self):
        for device in (ROOT, volumes_base.DATA):
            server = self.bury_with(device)
            reserved = dict(self.cinder.volume_to_attachment[cinder.ROOT])
            self.cinder.create_vol_attachment(
                cinder.ROOT, uuidsentinel.another_server)
            self.assert_refused_without_trace(400, server, 'Detach it there')
            self.cinder.volume_to_attachment[cinder.ROOT] = reserved
            self.rebuild(server)
            self.buried_again(server)
            self.cinder.volume_to_attachment[cinder.ROOT].clear()

    def test_a_volume_in_error_is_409(self):
        server = self.bury_with(volumes_base.DATA)
        self.cinder.fixed[cinder.ROOT] = {'status': 'error'}
        self.assert_refused_without_trace(409, server, cinder.ROOT)

    def test_a_volume_that_a_host_connects_or_lets_go_is_409(self):
        server = self.bury_with(volumes_base.DATA)
        shared = self.bury_with({
            **volumes_base.DATA, 'uuid': cinder.Cinder.MULTIATTACH_VOL})
        for status in ('attaching', 'detaching'):
            for volume in (cinder.ROOT, cinder.Cinder.MULTIATTACH_VOL):
                self.cinder.fixed[volume] = {'status': status}
            self.assert_refused_without_trace(409, server, cinder.ROOT)
            # Others may have it.
            self.rebuild(shared)
            self.buried_again(shared)

    def test_a_snapshot_that_is_gone_is_400(self):
        snapshot = volumes_base.NEW_DATA[1]
        servers = [self.bury_with({**snapshot, 'boot_index': 0}),
                   self.bury_with(snapshot)]
        self.cinder.volume_snapshots.clear()
        for server in servers:
            self.assert_refused_without_trace(400, server, self.snapshot)

    def test_an_image_that_is_gone_is_400(self):
        self.image = self.glance.auto_disk_config_enabled_image['id']
        image = volumes_base.NEW_DATA[0]
        servers = [self.bury_with({**image, 'boot_index': 0}),
                   self.bury_with(image)]
        self.glance.delete(None, self.image)
        for server in servers:
            self.assert_refused_without_trace(400, server, self.image)

    def test_a_volume_type_that_is_gone_is_400(self):
        server = self.bury_with(volumes_base.NEW_DATA[2])
        self.cinder.types.remove('lvm-1')
        self.assert_refused_without_trace(400, server, 'lvm-1')


class DeletedMixin:
    """What a delete does to volumes, whichever way the server went."""

    def setUp(self):
        super().setUp()
        self.server = self.bury_with(
            {**volumes_base.VOLUME, 'uuid': cinder.ROOT, 'boot_index': 0,
             'delete_on_termination': True},
            {**volumes_base.VOLUME, 'uuid': uuidsentinel.data})
        self.cinder.calls.clear()

    def test_no_volume_goes_before_the_server_and_then_what_should(self):
        [root] = self.cinder.attachments(cinder.ROOT)
        [data] = self.cinder.attachments(uuidsentinel.data)
        self.move()
        self.assertNotIn('delete', str(self.cinder.calls))
        self.cinder.calls.clear()
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)
        self.assertEqual(
            [('attachment_delete', root), ('attachment_delete', data),
             ('delete', cinder.ROOT)],
            sorted(self.cinder.calls, key=lambda call: (
                call[0], call[1] != root)))


class AbortedMixin:
    """What a compute does to volumes that aborts a build."""

    def abort(self, *args, **kwargs):
        raise exception.BuildAbortException(
            instance_uuid=uuidsentinel.server, reason='made up')

    def test_a_compute_that_aborts_the_build_deletes_what_goes_with_it(self):
        self.stub_out('nova.virt.fake.FakeDriver.spawn', self.abort)
        body = self.body([
            {**ROOT, 'delete_on_termination': True},
            {**volumes_base.VOLUME, 'uuid': uuidsentinel.data}])
        server = self._wait_for_state_change(self.built(body), 'ERROR')
        self._wait_for_assert(lambda: self.assertEqual(
            [cinder.ROOT], [volume for method, volume in self.cinder.calls
                            if method == 'delete']))
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertEqual(
            [], self.cinder.attachment_ids_for_instance(server['id']))


class StockAbortedTest(AbortedMixin, volumes_base.VolumesTestCase):

    enabled = False

    def built(self, body):
        """Return a new server that comes to a host."""
        self._start_compute('host1')
        return self.api.post_server({
            'server': {**self._build_server(networks='none'), **body}})


class RebuiltAbortedTest(AbortedMixin, volumes_base.VolumesTestCase):

    def built(self, body):
        """Return a rebuilt server that comes to a host."""
        server = self.bury(**body)
        self._start_compute('host1')
        return self.rebuild(server)


class StockDeletedTest(DeletedMixin, volumes_base.VolumesTestCase):

    enabled = False

    def move(self):
        """Nothing: Nova has one place for a buried server."""


class BuriedAgainDeletedTest(DeletedMixin, volumes_base.VolumesTestCase):

    def move(self):
        self.rebuild(self.server)
        self.buried_again(self.server)


class OperatorDeletedTest(DeletedMixin, volumes_base.VolumesTestCase):

    bury_as_an_operator_would = (
        races_base.RaceTestCase.bury_as_an_operator_would)
    _record = races_base.RaceTestCase._record

    def move(self):
        self.stub_out(recovering.REQUEST, lambda *args: None)
        self.rebuild(self.server)
        self.bury_as_an_operator_would()
        self.assert_shown_once(self.server['id'], 'ERROR')


class RebuiltDeletedTest(DeletedMixin, volumes_base.VolumesTestCase):

    def move(self):
        self._start_compute('host1')
        self.rebuild(self.server)
        self.active(self.server)
