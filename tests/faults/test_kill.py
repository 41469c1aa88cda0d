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

"""A real process is killed at any boundary of a rebuild: nothing is lost.

Its database is MariaDB and its broker RabbitMQ. It takes long, so it is no
part of the quick tests.
"""

from tests.faults import boundaries
from tests.faults import clouds
from tests.faults import kills
from tests.faults import stories
from tests.integration import base


def setUpModule():
    cloud = base.shared_cloud(clouds.Cloud)
    cloud.conductors(enabled=[clouds.CONDUCTOR])
    kills.KillSeries.cloud = cloud


class KillTest(kills.KillSeries):

    def test_nova_api_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.API)

    def test_a_conductor_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.CONDUCTOR)

    def test_a_conductor_without_capacity(self):
        self.play_all(stories.NO_CAPACITY, boundaries.CONDUCTOR)
