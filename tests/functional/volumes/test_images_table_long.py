# SPDX-License-Identifier: Apache-2.0

"""The tables of doc/source/reference/images.rst are true of all others."""

import fixtures
from nova.virt import fake

from tests.functional.volumes import images_table
from tests.functional.volumes import images_table_base
from tests import releases


class StockTest(images_table_base.BuriedTestCase):

    options = {'api_microversion': '2.90'}

    def test_buried_servers_from_293_on(self):
        self.check('buried', 'From 2.93', images_table.cases())

    def test_buried_servers_below_293(self):
        self.check('buried', 'Below 2.93', images_table.cases())


class LaunchedTestCase(images_table_base.ImagesTableTestCase):

    def setUp(self):
        super().setUp()
        self._start_compute('host1')
        self.cinder.status, self.cinder.written = 'in-use', self.tell_nova
        spawn = fake.FakeDriver.spawn

        def spawned(driver, context, instance, image_meta, *args, **kwargs):
            if 'id' in image_meta:
                self.spawned[instance.uuid] = image_meta.id
            return spawn(
                driver, context, instance, image_meta, *args, **kwargs)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.spawn', spawned))

    def tell_nova(self, volume_id):
        """Tell Nova that an image is written, as Cinder does."""
        [attachment] = self.cinder.volume_to_attachment[volume_id].values()
        with self.microversion_is('2.93'):
            self.api.create_server_external_events([{
                'name': 'volume-reimaged', 'tag': volume_id,
                'server_uuid': attachment['instance_uuid'],
                'status': 'completed'}])

    def create(self, case):
        return self._wait_for_state_change(self.api.post_server({'server': {
            **self._build_server(networks='none'), **self.body(case)}}),
            'ACTIVE')

    def wait(self, server, outcome):
        # Older releases do not end a rebuild that fails so.
        status, task = 'ACTIVE', None
        if outcome == 'failed':
            status, task = ('ERROR', None) if releases.has(
                'event_timeout') else ('REBUILD', 'rebuilding')
        self._wait_for_server_parameter(
            server, {'status': status, 'OS-EXT-STS:task_state': task})
        self.assertEqual('rebuild', self.actions(server)[-1][0])


class AddedMicroversionTest(LaunchedTestCase):

    def test_launched_servers(self):
        self.check('launched', 'Added microversion', images_table.cases())


class OpenMicroversionTest(LaunchedTestCase):
    """Nova's answers are as without the package, also where it rebuilds."""

    options = {'api_microversion': '2.90'}

    def test_launched_servers_from_293_on(self):
        self.check('launched', 'From 2.93', images_table.cases())

    def test_launched_servers_below_293(self):
        self.check('launched', 'Below 2.93', images_table.cases())


class NovaTest(OpenMicroversionTest):
    """The same without the package: the answers are Nova's."""

    enabled = False
