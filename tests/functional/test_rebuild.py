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

"""A buried server is rebuilt."""

from tests.functional import base


class RebuildTest(base.FunctionalTestCase):

    def test_a_buried_server_becomes_active_under_its_own_id(self):
        server = self.bury()
        self._start_compute('host1')
        answer = self.rebuild(server)
        self.assertEqual(server['id'], answer['id'])
        self.assertEqual('BUILD', answer['status'])
        server = self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual('host1', server['OS-EXT-SRV-ATTR:host'])
