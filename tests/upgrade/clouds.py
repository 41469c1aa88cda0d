# SPDX-License-Identifier: Apache-2.0

"""A cloud whose Nova is upgraded to the one that the tests run on."""

import pathlib

from tests.integration import cloud
from tests.integration import novas
from tests.integration import settings

ENVIRONMENTS = (
    pathlib.Path(__file__).resolve().parents[2] / '.state' / 'matrix')

# What an operator sets who jumps over releases, as long as there are records
# of computes that are too old.
JUMPED = {'workarounds': {'disable_compute_service_check_for_ffu': 'true'}}


def earlier(release):
    """Return an earlier Nova, which "make upgrade" has installed."""
    return novas.at(ENVIRONMENTS / str(release), release)


class Cloud(cloud.Cloud):
    """A cloud of an earlier Nova, until it is upgraded."""

    def __init__(self, release):
        """:param release: the number of the earlier Nova."""
        super().__init__(earlier(release))

    def stop(self):
        """Stop all services, as before a jump over releases."""
        self.conductors()
        for process in (
                self._api, self._scheduler, self._placement,
                *self._computes.values()):
            process.kill()
        self._computes.clear()

    def migrate(self):
        """Install this Nova and bring the databases to its schema."""
        self._nova = novas.Nova()
        self.api = self.client(self._ports[0])
        # It migrates its own database when it starts.
        self._start_placement()
        self._manage('api_db', 'sync')
        self._manage('db', 'sync')
        for cell in self._cell0, self._cell1:
            self._manage_conf = self._settings.write_nova(
                'nova-manage', cell, settings.ENABLED)
            self._manage('db', 'online_data_migrations')

    def start(self, *changes):
        """Start nova-api and nova-scheduler.

        :param changes: to the configuration file of each service, from now.
        """
        self._changes = changes
        self._start_nova()

    def start_alone(self, binary):
        """Start a service without these changes, return its process."""
        return super()._start_service(binary, 'alone', self._cell1)

    _changes = ()

    def _start_api(self, name, port, *changes, **environment):
        return super()._start_api(
            name, port, *changes, *self._changes, **environment)

    def _start_service(self, binary, name, *changes, **environment):
        return super()._start_service(
            binary, name, *changes, *self._changes, **environment)
