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

"""A process dies at any boundary of a rebuild: no server is lost."""

from tests.faults import series
from tests.faults import stories


class CrashTest(series.Series):

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
