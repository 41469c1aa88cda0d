# SPDX-License-Identifier: Apache-2.0

"""A conductor stalls before whatever others can see: nobody suffers."""

from tests.faults import boundaries
from tests.faults import stalls
from tests.faults import stories


class StallTest(stalls.StallSeries):

    def test_with_capacity_it_has_what_it_needs(self):
        self._play_all(stories.CAPACITY)

    def test_without_capacity_it_has_what_it_needs(self):
        self._play_all(stories.NO_CAPACITY)

    def test_with_an_accelerator_it_has_what_it_needs(self):
        self._play_all(stories.ACCELERATOR)

    def test_with_another_image_it_has_what_it_needs(self):
        self._play_all(stories.REIMAGE)

    def _play_all(self, story):
        self.play_all(story, stalls.GO_ON, processes=[boundaries.CONDUCTOR])
