# SPDX-License-Identifier: Apache-2.0

"""A conductor stalls where it asks somebody: nobody suffers."""

from tests.faults import boundaries
from tests.faults import stalls
from tests.faults import stories

_SERVICES = ('placement', 'cyborg')
_DATABASES = ('begin',)


class StallTest(stalls.StallSeries):

    def test_with_capacity_it_has_what_it_needs(self):
        self._play_all(stories.CAPACITY)

    def test_without_capacity_it_has_what_it_needs(self):
        self._play_all(stories.NO_CAPACITY)

    def test_with_an_accelerator_it_has_what_it_needs(self):
        self._play_all(stories.ACCELERATOR)

    def test_with_capacity_no_database_is_written_too_late(self):
        self._play_all(stories.CAPACITY, _DATABASES)

    def test_without_capacity_no_database_is_written_too_late(self):
        self._play_all(stories.NO_CAPACITY, _DATABASES)

    def _play_all(self, story, kinds=_SERVICES):
        self.play_all(story, stalls.GO_ON,
                      processes=[boundaries.CONDUCTOR], kinds=kinds)
