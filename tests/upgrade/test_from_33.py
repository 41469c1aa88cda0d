# SPDX-License-Identifier: Apache-2.0

"""An upgrade from the release before this one."""

from tests.upgrade import upgrading


def setUpModule():
    upgrading.Tests.upgrade = upgrading.Upgrade(33)
    upgrading.Tests.upgrade.go_on()


class UpgradeTest(upgrading.Tests):
    """Servers that were buried under Nova 33."""
