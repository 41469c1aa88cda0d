# SPDX-License-Identifier: Apache-2.0

"""Something fails at any boundary: nothing is lost or left half done."""

from tests.faults import boundaries
from tests.faults import errors
from tests.faults import series
from tests.faults import stories


class ErrorTest(errors.ErrorSeries):

    def test_with_capacity_it_is_complete(self):
        self.play_all(stories.CAPACITY, series.DELETE, series.RECOVER)

    def test_without_capacity_it_is_complete(self):
        # nova-api does not know that there is none.
        self.play_all(stories.NO_CAPACITY, series.DELETE, series.RECOVER,
                      processes=[boundaries.CONDUCTOR])

    def test_with_another_image_it_is_complete(self):
        self.play_all(stories.REIMAGE, series.DELETE, series.RECOVER,
                      kinds=['cinder', 'glance'])

    def test_with_another_image_and_no_database_it_is_complete(self):
        self.play_all(stories.REIMAGE, series.DELETE, series.RECOVER,
                      processes=[boundaries.CONDUCTOR],
                      kinds=['begin', 'commit'])

    def test_with_an_accelerator_it_is_complete(self):
        self.play_all(stories.ACCELERATOR, series.DELETE, series.RECOVER,
                      kinds=['cyborg'])
