#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""A conductor stalls where it asks Placement or Cyborg: nobody suffers."""

from tests.faults import boundaries
from tests.faults import stalls
from tests.faults import stories

_SERVICES = ('placement', 'cyborg')


class StallTest(stalls.StallSeries):

    def test_with_capacity_it_has_what_it_needs(self):
        self._play_all(stories.CAPACITY)

    def test_without_capacity_it_has_what_it_needs(self):
        self._play_all(stories.NO_CAPACITY)

    def test_with_an_accelerator_it_has_what_it_needs(self):
        self._play_all(stories.ACCELERATOR)

    def _play_all(self, story):
        self.play_all(story, stalls.GO_ON,
                      processes=[boundaries.CONDUCTOR], kinds=_SERVICES)
