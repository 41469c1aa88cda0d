# SPDX-License-Identifier: Apache-2.0

"""A whole Nova in this process, on the fixtures of its functional tests."""

# Decides, before anything else is imported, how Nova runs its workers.
import tests.functional  # noqa: F401

from nova.tests.fixtures import glance
from nova.tests.fixtures import neutron
from nova.tests.functional import integrated_helpers
import testtools

from cell0_rebuild import fixture
from tests.functional.support import databases
from tests import releases

IMAGE_ID = glance.GlanceFixture.image1['id']
PORT = neutron.NeutronFixture.port_1

# Nova makes these rows for a project and for an image, not for a server.
_NOT_OF_A_SERVER = {'security_groups', 's3_images'}


class Deployment(integrated_helpers.ProviderUsageBaseTestCase):
    """nova-api, conductor, scheduler, Placement; computes come later.

    Nova's fixtures are made for a test case, so this is one.
    """

    compute_driver = 'fake.MediumFakeDriver'

    def __init__(self, story):
        """Prepare, without starting anything.

        :param story: called with this deployment when it runs.
        """
        super().__init__('_tell')
        self._story = story
        # Nova's test case forgets what has no underscore when it ends.
        self._log = ''
        # What broke it off comes first, then what that leads to.
        self._failures = []
        self.addOnException(lambda info: self._failures.append(info[1]))

    def setUp(self):
        """Start the services."""
        # The fixtures of Nova look for it in a source tree.
        self.flags(api_paste_config=str(releases.PASTE), group='wsgi')
        # A story that breaks off in a build would keep the conductor waiting
        # for a scheduler that was stopped before it.
        self.flags(long_rpc_timeout=10)
        # A server that waits is shown as BUILD.
        self.useFixture(fixture.Cell0RebuildFixture(
            vm_states=['error', 'building']))
        super().setUp()
        # Clients with the rights of an ordinary user and an administrator.
        self.user, self.operator = (
            self.api_fixture.api, self.api_fixture.admin_api)

    def run_story(self):
        """Start, tell the story, stop; raise what breaks it off."""
        self.run(testtools.TestResult())
        if self._failures:
            raise self._failures[0]

    @property
    def log(self):
        """What the services logged until the story ended."""
        return self._log

    def start_compute(self, host):
        """Start a compute service on a host."""
        self._start_compute(host)

    def allocations(self, server_id):
        """Return the names of the hosts on which Placement has a claim."""
        return [self._get_resource_provider_by_uuid(provider)['name']
                for provider in self._get_allocations_by_server_uuid(
                    server_id)]

    def rows(self, cell_name):
        """Return how many rows each table of a cell's database has.

        Tables that have nothing of a single server are left out.
        """
        return {name: len(rows)
                for name, rows in databases.dump()[cell_name].items()
                if name not in _NOT_OF_A_SERVER}

    def build_requests(self):
        """Return how many build requests the API database has."""
        return len(databases.dump()['api']['build_requests'])

    def _tell(self):
        try:
            self._story(self)
        finally:
            self._log = self.stdlog.logger.output
