# SPDX-License-Identifier: Apache-2.0

"""What tests do with servers whose guests run."""

import os

from tests.e2e import base
from tests.integration import processes
from tools.cloud import contents
from tools.cloud import hypervisor

IMAGE = contents.GUEST_IMAGES[0]


class GuestTestCase(base.CloudTestCase):
    """A test on the host of libvirt."""

    def setUp(self):
        if os.geteuid():
            self.skipTest('this takes root')
        self.assertEqual([], hypervisor.missing_packages())
        super().setUp()

    def create_server(self, **wanted):
        """Ask for a server whose guest needs more than the smallest."""
        return super().create_server('small', **wanted)

    def bury_guest(self, **wanted):
        """Return a buried server; there is a host for its guest by now."""
        buried = self.bury(**{'image_id': self.image(IMAGE), **wanted})
        self.cloud.only_real_guests()
        return buried

    def told(self, server):
        """Wait for what a guest tells on its console."""
        def found():
            console = self.user.compute.get_server_console_output(server)
            return hypervisor.told(console['output'])

        self.wait_for('ACTIVE', server)
        return processes.poll(found, 'that the guest told', 180)
