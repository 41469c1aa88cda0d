# SPDX-License-Identifier: Apache-2.0

"""A server whose rebuild is interrupted, and recovered."""

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.support import failing
from tests.functional.support import races_base
from tests.functional.support import recovering


class RecoverTestCase(races_base.RaceTestCase):
    """A buried server, a host for it, and a conductor that waits."""

    def setUp(self):
        super().setUp()
        self.late = self.useFixture(races_base.HeldMessage())

    def rebuild_until(self, step, before=None, after=None, **body):
        """Have the server rebuilt, with something happening at a step."""
        hook = self.useFixture(base.Interception(step, before, after))
        self.rebuild(self.server, **body)
        self.late.deliver()
        self.assertEqual([], hook.waiting())

    def build_and_fail(self):
        """Have a compute fail; no conductor ends the rebuild."""
        with self.useFixture(failing.FailingBuilds()).failing():
            self.rebuild_until(recovering.FINISH, before=recovering.crash)
            self._wait_for_assert(self.assert_build_ended)

    def assert_recovered(self, state):
        """Recover, check that the server is as if freshly buried."""
        code, found = recovering.recover()
        self.assertEqual((0, {self.server['id']: state}), (code, {
            server: finding['state'] for server, finding in found.items()}))
        self.assert_buried()
        before = databases.dump()
        self.assertEqual((0, {}), recovering.recover())
        self.assertEqual([], databases.differences(before, databases.dump()))

    def assert_build_ended(self):
        """Check that a compute has ended one build."""
        self.assertEqual([True], [
            event['finish_time'] is not None for event in
            databases.dump()['cell1']['instance_actions_events']
            if event['event'] == 'compute__do_build_and_run_instance'])

    def assert_buried(self):
        """Check that the server is in cell0, and only there."""
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual('cell0', databases.cell_of(self.server['id']))
        found = databases.dump()
        self.assertEqual([], found['api']['build_requests'])
        self.assertEqual([], found['cell1']['instances'])
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(self.server['id']))

    def assert_can_be_rebuilt(self):
        """Rebuild the server for good."""
        self.late.let_through()
        self.rebuild(self.server)
        server = self.active(self.server)
        self.assert_shown_once(self.server['id'], 'ACTIVE')
        self.assertEqual([], databases.dump()['cell0']['instances'])
        return server


class NewVolumeTestCase(RecoverTestCase):
    """The compute of the server is to make a volume for it, which stays."""

    def bury_it(self):
        """Replace: it boots from the volume."""
        self.useFixture(cinder.Cinder(self))
        return self.bury(imageRef='', block_device_mapping_v2=[{
            'boot_index': 0, 'source_type': 'image',
            'uuid': self.glance.image1['id'], 'destination_type': 'volume',
            'volume_size': 1, 'delete_on_termination': False}])
