# SPDX-License-Identifier: Apache-2.0

"""What the package does about differences between releases."""

import testtools

from cell0_rebuild.api import microversion_range
from cell0_rebuild import nova_compat
from tests import releases as expected


class OldestComputeTest(testtools.TestCase):

    def test_a_check_that_takes_the_version_is_told(self):
        seen = []

        def check(context, networks, min_comp_ver):
            seen.append((context, networks, min_comp_ver))

        nova_compat.with_oldest_compute(check, 61, 'a context', 'networks')
        self.assertEqual([('a context', 'networks', 61)], seen)

    def test_a_check_that_looks_it_up_is_not_told(self):
        seen = []

        def check(context, networks):
            seen.append((context, networks))

        nova_compat.with_oldest_compute(check, 61, 'a context', 'networks')
        self.assertEqual([('a context', 'networks')], seen)


class DocumentedTest(testtools.TestCase):

    def test_the_highest_microversion_is_the_one_that_is_documented(self):
        self.assertEqual(
            expected.DOCUMENTED.get(expected.RELEASE, expected.STOCK),
            microversion_range.stock_range()[1])
