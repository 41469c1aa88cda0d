# SPDX-License-Identifier: Apache-2.0

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
        self.patches.install()
