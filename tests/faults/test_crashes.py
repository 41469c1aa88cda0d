# SPDX-License-Identifier: Apache-2.0

"""A process dies at any boundary of a rebuild: no server is lost."""

from nova import exception

from tests.faults import boundaries
from tests.faults import series
from tests.faults import stories
from tests.functional.support import failing

FAILED_BUILD = 'build fails on its compute'


class CrashTest(series.Series):

    def run_rebuild(self, server, fault=None):
        """Extend: its owner updates the server meanwhile."""
        with self.owner.at_work(server):
            return super().run_rebuild(server, fault)

    def test_with_capacity_it_is_shown_and_can_be_deleted(self):
        self.play_all(stories.CAPACITY, series.DELETE)

    def test_with_capacity_it_is_shown_and_can_be_recovered(self):
        self.play_all(stories.CAPACITY, series.RECOVER)

    def test_without_capacity_it_is_shown_and_can_be_deleted(self):
        self.play_all(stories.NO_CAPACITY, series.DELETE)

    def test_without_capacity_it_is_shown_and_can_be_recovered(self):
        self.play_all(stories.NO_CAPACITY, series.RECOVER)

    def test_with_another_image_it_is_shown_and_can_be_deleted(self):
        self.play_all(stories.REIMAGE, series.DELETE)

    def test_with_another_image_it_is_shown_and_can_be_recovered(self):
        self.play_all(stories.REIMAGE, series.RECOVER)

    def test_with_an_accelerator_it_is_shown_and_can_be_deleted(self):
        self.play_all(stories.ACCELERATOR, series.DELETE)

    def test_with_an_accelerator_it_is_shown_and_can_be_recovered(self):
        self.play_all(stories.ACCELERATOR, series.RECOVER)


class FailedBuildTest(series.Series):
    """A compute makes a volume that is to stay, and aborts the build."""

    def setUp(self):
        super().setUp()
        self.builds = self.useFixture(failing.FailingBuilds())

    def bury_one(self, story):
        """Replace: its compute is to make a volume for it."""
        self.have_capacity(False)
        self.cinder.volumes.clear()
        server = self.bury(networks=[{'port': stories.PORT}], imageRef='',
                           block_device_mapping_v2=[{
                               'boot_index': 0, 'source_type': 'image',
                               'uuid': self.glance.image1['id'],
                               'destination_type': 'volume',
                               'volume_size': 1,
                               'delete_on_termination': False}])
        self.have_capacity(True)
        return {**server, 'volume': None, 'request': {}, 'accelerators': 0}

    def run_rebuild(self, server, fault=None):
        """Extend: its compute fails."""
        with self.builds.failing(exception.BuildAbortException(
                instance_uuid=server['id'], reason='no')):
            return super().run_rebuild(server, fault)

    def _check_heard(self, server):
        """Replace: its owner does not update it."""
        self._finish(server)

    def _then_recover(self, server):
        """Replace: the server has whatever was made for it."""
        self.recover(server)
        self.wait_for(server, 'ERROR')
        shown = self.api.get_server(server['id'])
        lost = set(self.cinder.volumes).difference(
            volume['id'] for volume in
            shown['os-extended-volumes:volumes_attached'])
        if lost:
            raise stories.Lost(f'volumes {lost} belong to nobody')
        self._finish(server)

    def test_its_server_has_the_volume_that_the_compute_has_made(self):
        self.play_all(FAILED_BUILD, series.RECOVER,
                      processes=[boundaries.CONDUCTOR])
