# SPDX-License-Identifier: Apache-2.0

"""The package is removed from a Nova that runs, and installed again."""

from nova.tests import fixtures as nova_fixtures

from cell0_rebuild import patching
from tests.functional import base

_CHECK = base.name_of(patching.PatchSet.check)


class RemovingMixin:
    """Starts the services anew, without the package or with it."""

    def remove_package(self):
        """Go on with a Nova that does not have the package."""
        self.conductors.pop().stop()
        self.package.patches.remove()
        self._start(base.STOCK)

    def install_package(self):
        """Go on with a Nova that has it again."""
        self.conductors.pop().stop()
        # Fixtures of Nova stand where the signatures of Nova were checked.
        self.stub_out(_CHECK, lambda patches: None)
        self.package.patches.install()
        self._start(base.ADDED)

    def _start(self, newest):
        self.start_service('conductor')
        # It is loaded anew, from functions that are patched or not.
        self.useFixture(nova_fixtures.OSAPIFixture(
            api_version='v2.1', stub_keystone=False))
        self.assertEqual(
            newest, self.api.api_get('/').body['version']['version'])
