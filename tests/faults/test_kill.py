# SPDX-License-Identifier: Apache-2.0

"""A real process is killed at any boundary of a rebuild: nothing is lost.

Its database is MariaDB and its broker RabbitMQ. It takes long, so it is no
part of the quick tests.
"""

from tests.faults import boundaries
from tests.faults import clouds
from tests.faults import kills_base
from tests.faults import stories
from tests.integration import base


def setUpModule():
    cloud = base.shared_cloud(clouds.Cloud)
    cloud.conductors(enabled=[clouds.CONDUCTOR])
    kills_base.KillSeries.cloud = cloud


class KillTest(kills_base.KillSeries):

    def test_nova_api_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.API)

    def test_a_conductor_with_capacity(self):
        self.play_all(stories.CAPACITY, boundaries.CONDUCTOR)

    def test_a_conductor_without_capacity(self):
        self.play_all(stories.NO_CAPACITY, boundaries.CONDUCTOR)
