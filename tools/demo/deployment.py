# SPDX-License-Identifier: Apache-2.0

"""A whole Nova in this process, on the fixtures of its functional tests."""

# Decides, before anything else is imported, how Nova runs its workers.
import tests.functional  # noqa: F401

from nova.tests.functional import integrated_helpers
import testtools

from cell0_rebuild import fixture
from tests.functional.support import databases
from tests import releases

# Nova makes these rows for a project and for an image, not for a server.
_NOT_OF_A_SERVER = {'security_groups', 's3_images'}


class Deployment(integrated_helpers.ProviderUsageBaseTestCase):
    """nova-api, conductor, scheduler, Placement; computes come later.

    Nova's fixtures are made for a test case, so this is one. Its ``api`` has
    the rights of a user, ``admin_api`` those of an operator.
    """

    compute_driver = 'fake.MediumFakeDriver'

    def __init__(self, story, told):
        """Prepare, without starting anything.

        :param story: called with this deployment when it runs.
        :param told: called when it is about to stop.
        """
        super().__init__('_tell')
        self._story, self._told = story, told
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

    def run_story(self, log):
        """Start, tell the story, stop; raise what breaks it off.

        :param log: is written what the services log until the story ends.
        """
        self.run(testtools.TestResult())
        log.write(self._log)
        if self._failures:
            raise self._failures[0]

    def start_compute(self, host):
        """Start a compute service on a host."""
        self._start_compute(host)

    def places(self, server_id):
        """Return what the databases have.

        :param server_id: of a server, or None.
        """
        found = databases.dump()
        claims = self._get_allocations_by_server_uuid(
            server_id) if server_id else ()
        return {
            'cell0: instances': len(found['cell0']['instances']),
            'cell0: all its rows': sum(
                len(rows) for name, rows in found['cell0'].items()
                if name not in _NOT_OF_A_SERVER),
            'cell1: instances': len(found['cell1']['instances']),
            'API: build requests': len(found['api']['build_requests']),
            'API: mapped to':
                databases.cell_of(server_id) if server_id else '',
            'Placement: claim on': ', '.join(
                self._get_resource_provider_by_uuid(provider)['name']
                for provider in claims)}

    def _tell(self):
        try:
            self._story(self)
        finally:
            self._told()
            self._log = self.stdlog.logger.output
