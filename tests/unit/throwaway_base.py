# SPDX-License-Identifier: Apache-2.0

"""A module to patch, and whether it is as it was."""

import testtools

from tests.unit import throwaway


class TestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.modules = self.useFixture(throwaway.Modules())

    def assert_original(self, module, name):
        """Check that the identical object is where it was."""
        self.assertIs(module.ORIGINAL[name], throwaway.raw(module, name))
        self.assertEqual(['original', 1, 1], throwaway.call(module, name))

    def assert_patched(self, module, name):
        """Check that our wrapper, once, is where the original was."""
        self.assertIsNot(module.ORIGINAL[name], throwaway.raw(module, name))
        self.assertEqual(
            ['ours', 'original', 1, 1], throwaway.call(module, name))
