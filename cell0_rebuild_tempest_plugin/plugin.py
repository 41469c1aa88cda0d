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
