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

"""What the package does about differences between releases."""

import testtools

from cell0_rebuild.api import numbers
from cell0_rebuild import releases
from tests import releases as expected


class OldestComputeTest(testtools.TestCase):

    def test_a_check_that_takes_the_version_is_told(self):
        seen = []

        def check(context, networks, min_comp_ver):
            seen.append((context, networks, min_comp_ver))

        releases.with_oldest_compute(check, 61, 'a context', 'networks')
        self.assertEqual([('a context', 'networks', 61)], seen)

    def test_a_check_that_looks_it_up_is_not_told(self):
        seen = []

        def check(context, networks):
            seen.append((context, networks))

        releases.with_oldest_compute(check, 61, 'a context', 'networks')
        self.assertEqual([('a context', 'networks')], seen)


class DocumentedTest(testtools.TestCase):

    def test_the_highest_microversion_is_the_one_that_is_documented(self):
        self.assertEqual(
            expected.DOCUMENTED.get(expected.RELEASE, expected.STOCK),
            numbers.stock_range()[1])
