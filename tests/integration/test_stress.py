# SPDX-License-Identifier: Apache-2.0

"""Many clients, with servers that are rebuilt, changed and deleted.

The seed decides what each client asks for and when there is capacity; how the
requests meet is up to the processes.
"""

import random

from tests.integration import clients
from tests.integration import stress
from tests.integration import stress_base

CLIENTS = 6
SERVERS = 30

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = stress_base.shared_cloud()


class StressTest(stress_base.StressTestCase):

    def test_whatever_they_do_all_fits_together_at_the_end(self):
        crowd = stress.Crowd(self.cloud, stress_base.SEED)
        first = clients.Client(self.cloud.url)
        chance = random.Random(stress_base.SEED)
        self.cloud.close_hosts()
        for _ in range(SERVERS):
            crowd.add(first, chance).raise_for_status()
        crowd.run(CLIENTS, stress_base.SECONDS)
        self.assert_right(crowd)
