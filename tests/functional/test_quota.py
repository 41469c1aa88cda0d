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

"""A rebuild is checked against the quota of the server's owner."""

from tests.functional import base
from tests.functional import databases


class QuotaTest(base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.server = self.bury()
        self._start_compute('host1')

    def test_at_exactly_the_limit_it_passes(self):
        self.flags(instances=1, cores=1, ram=512, group='quota')
        self.rebuild(self.server)
        self.active(self.server)

    def test_over_the_limit_it_is_403_and_nothing_changes(self):
        self.flags(instances=0, group='quota')
        before = databases.dump()
        error = self.assert_refused(403, self.server)
        self.assertIn('Quota exceeded', error)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))


class PlacementQuotaTest(QuotaTest):
    """The same, with usage counted from Placement."""

    def setUp(self):
        super().setUp()
        self.flags(count_usage_from_placement=True, group='quota')

    def test_cores_are_counted_though_it_has_no_allocation_yet(self):
        self.flags(cores=0, group='quota')
        error = self.assert_refused(403, self.server)
        self.assertIn('cores', error)
