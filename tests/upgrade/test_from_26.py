# SPDX-License-Identifier: Apache-2.0

"""A jump from the oldest release that is supported."""

from tests.upgrade import upgrading


def setUpModule():
    upgrading.Tests.upgrade = upgrading.Upgrade(26)
    upgrading.Tests.upgrade.go_on()


class JumpTest(upgrading.Tests):
    """Servers that were buried under Nova 26."""

    def test_no_service_starts_with_a_compute_that_is_too_old(self):
        process = self.cloud.start_alone('nova-conductor')
        self.addCleanup(process.kill)
        self.assertNotEqual(0, process.code())
        self.assertIn('does not support computes older than', process.output)
