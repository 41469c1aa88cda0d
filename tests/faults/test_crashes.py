# SPDX-License-Identifier: Apache-2.0

"""A process dies at any boundary of a rebuild: no server is lost."""

from tests.faults import series
from tests.faults import stories


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
