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

"""A fixture that runs Nova's functional tests with the package enabled.

It needs the ``fixtures`` library, as Nova's tests do::

    class TestWithCell0Rebuild(integrated_helpers.ProviderUsageBaseTestCase):

        def setUp(self):
            self.useFixture(fixture.Cell0RebuildFixture())
            super().setUp()
"""

from __future__ import annotations

import fixtures
from oslo_config import cfg
from oslo_config import fixture as config_fixture

from cell0_rebuild import activation
from cell0_rebuild import conf


class Cell0RebuildFixture(fixtures.Fixture):  # type: ignore[misc]
    """Enables the package, in all the services of the process.

    Use it before the ``setUp`` of Nova's test case: functions must be patched
    before an API application or an RPC server is made of them. Its clean-up
    puts the identical objects back.
    """

    def __init__(self, **options: object) -> None:
        """:param options: values for options of ``[cell0_rebuild]``."""
        super().__init__()
        self._options = options

    def _setUp(self) -> None:
        conf.register(cfg.CONF)
        config = self.useFixture(config_fixture.Config(cfg.CONF))
        config.config(group=conf.GROUP.name, **self._options)
        self.patches = activation.load(('objects', 'api', 'conductor'))
        self.addCleanup(self.patches.remove)
        self.patches.install_now()
