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

    def test_with_an_accelerator_it_is_complete(self):
        self.play_all(stories.ACCELERATOR, series.DELETE, series.RECOVER,
                      kinds=['cyborg'])
