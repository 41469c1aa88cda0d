# SPDX-License-Identifier: Apache-2.0

"""What Tempest finds through the entry point ``tempest.test_plugins``."""

from __future__ import annotations

import pathlib
import typing as ty

from oslo_config import cfg
from tempest.test_discover import plugins

from cell0_rebuild_tempest_plugin import config


class Cell0RebuildTempestPlugin(plugins.TempestPlugin):
    """Tests that a cloud rebuilds servers that were buried in cell0."""

    def load_tests(self) -> tuple[str, str]:
        """Return the folder of the tests and the one to import them from."""
        package = pathlib.Path(__file__).resolve().parent
        return str(package / 'tests'), str(package.parent)

    def register_opts(self, conf: cfg.ConfigOpts) -> None:
        """Register the options."""
        conf.register_opt(config.SERVICE_OPTION, group='service_available')
        conf.register_group(config.GROUP)
        conf.register_opts(config.OPTS, group=config.GROUP)

    def get_opt_lists(self) -> list[tuple[str, list[ty.Any]]]:
        """Return the options for a sample of tempest.conf."""
        return [('service_available', [config.SERVICE_OPTION]),
                (config.GROUP.name, config.OPTS)]
