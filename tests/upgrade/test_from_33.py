# SPDX-License-Identifier: Apache-2.0

"""An upgrade from the release before this one."""

from tests.upgrade import upgrading
from tests.upgrade import upgrading_base


def setUpModule():
    upgrading_base.Tests.upgrade = upgrading.Upgrade(33)
    upgrading_base.Tests.upgrade.go_on()


class UpgradeTest(upgrading_base.Tests):
    """Servers that were buried under Nova 33."""
