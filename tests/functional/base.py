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

"""Real Nova with its functional-test fixtures, and the package enabled."""

import os
import sys

from nova.tests.functional.api import client as api_client
from nova.tests.functional import integrated_helpers

from cell0_rebuild import fixture

ADDED = '2.105'
STOCK = '2.104'


class FunctionalTestCase(integrated_helpers.ProviderUsageBaseTestCase):
    """nova-api, conductor, scheduler; computes are for the test to start."""

    compute_driver = 'fake.MediumFakeDriver'
    microversion = STOCK
    enabled = True
    options: dict[str, object] = {}

    def setUp(self):
        # The wheel of Nova installs the file here, and the fixtures look for
        # it in a source tree.
        self.flags(api_paste_config=os.path.join(
            sys.prefix, 'etc/nova/api-paste.ini'), group='wsgi')
        if self.enabled:
            self.package = self.useFixture(
                fixture.Cell0RebuildFixture(**self.options))
        super().setUp()

    def bury(self, microversion=None, **body):
        """Create a server for which there is no host."""
        body.setdefault('networks', 'none')
        server = self._build_server(**body)
        if microversion:
            with self.microversion_is(microversion):
                server = self.api.post_server({'server': server})
        else:
            server = self.api.post_server({'server': server})
        return self._wait_for_state_change(server, 'ERROR')

    def microversion_is(self, microversion):
        """Return a context in which the client asks for a microversion."""
        return _Microversion(self.api, microversion)

    def rebuild(self, server, microversion=ADDED, **body):
        """Ask for a rebuild and return the server of the answer."""
        with self.microversion_is(microversion):
            return self.api.post_server_action(
                server['id'], {'rebuild': body})['server']

    def assert_refused(self, code, server, microversion=ADDED, **body):
        """Check the code of a refused rebuild and return the error."""
        error = self.assertRaises(
            api_client.OpenStackApiException, self.rebuild, server,
            microversion, **body)
        self.assertEqual(code, error.response.status_code, str(error))
        return str(error)


class _Microversion:

    def __init__(self, api, microversion):
        self._api = api
        self._microversion = microversion

    def __enter__(self):
        self._saved = self._api.microversion
        self._api.microversion = self._microversion

    def __exit__(self, *exc):
        self._api.microversion = self._saved
