# SPDX-License-Identifier: Apache-2.0

"""What the scheduler's filters refuse to some servers is open to others."""

import copy
import datetime

from tests.functional import base
from tests.functional.wait import sweeping

ANOTHER_IMAGE = '1b7f61c1-05cd-4b34-9a5e-2ae6e6b7b9aa'


class RefusalsTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.flavor = self._create_flavor()
        image = copy.deepcopy(self.glance.image1)
        image['properties']['hw_architecture'] = 'aarch64'
        self.glance.create(None, {**image, 'id': ANOTHER_IMAGE})

    def wait_for(self, image_id):
        """Bury a server of the flavor, from an image."""
        return self.wait_for_room(imageRef=image_id, flavorRef=self.flavor)

    def sweep_for(self, minutes):
        """Sweep every minute, when what was sent has settled."""
        for _ in range(minutes):
            swept = self.sweeper.sweep()
            for uuid in swept.answers:
                self._wait_for_assert(lambda uuid=uuid: self.assertNotIn(
                    self.api.get_server(uuid)['status'], {'BUILD'}))
            self.later += datetime.timedelta(minutes=1)

    def test_servers_of_one_image_do_not_stand_before_those_of_others(self):
        self.fill()
        for _ in range(2):
            self.wait_for(ANOTHER_IMAGE)
        servers = [self.wait_for(self.glance.image1['id']) for _ in range(2)]
        self.make_room(5)
        self.sweep_for(8)
        for server in servers:
            self.active(server)
        self.assertLess(len(self.asked()), 6)
