# SPDX-License-Identifier: Apache-2.0

"""A jump from the oldest release that is supported."""

from tests.upgrade import upgrading
from tests.upgrade import upgrading_base


def setUpModule():
    upgrading_base.Tests.upgrade = upgrading.Upgrade(26)
    upgrading_base.Tests.upgrade.go_on()


class JumpTest(upgrading_base.Tests):
    """Servers that were buried under Nova 26."""

    def test_no_service_starts_with_a_compute_that_is_too_old(self):
        process = self.cloud.start_alone('nova-conductor')
        self.addCleanup(process.kill)
        self.assertEqual(1, process.code())
        self.assertIn('does not support computes older than', process.output)
