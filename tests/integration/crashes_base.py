# SPDX-License-Identifier: Apache-2.0

"""Rebuilds whose conductor ends in the middle."""

import contextlib

from tests.integration import base


class CrashTestCase(base.CloudTestCase):
    """A test of a process that ends."""

    def buried(self):
        """Return a server that is buried, with a host for it by now."""
        [server] = self.do.bury()
        self.cloud.open_host()
        return server

    @contextlib.contextmanager
    def rebuild_in_progress(self, conductor):
        """Have a conductor in the middle of the rebuild of a server."""
        self.cloud.conductors(enabled=[conductor])
        server = self.buried()
        with self.cloud.paused_scheduler() as wait_until_asked:
            self.do.rebuild(server)
            wait_until_asked()
            yield server

    def cut_short(self, conductor):
        """Return a server whose conductor died in the middle."""
        with self.rebuild_in_progress(conductor) as server:
            self.cloud.kill_conductor(conductor)
        return server
