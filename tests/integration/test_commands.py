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

"""The commands of an operator, as processes of their own."""

import ddt

from tests.integration import base
from tests.integration import processes
from tests.integration import test_crashes

setUpModule = base.shared_cloud_for_burials


def _nowhere():
    [port] = processes.free_ports(1)
    return f'127.0.0.1:{port}'


def _no_database():
    url = f'mysql+pymysql://root@{_nowhere()}/api'
    return {'api_database': {
        'connection': url, 'max_retries': '1', 'retry_interval': '0'}}


class StatusTest(base.CloudTestCase):

    def test_where_all_is_well_it_exits_with_0(self):
        self.cloud.conductors(enabled=['one'])
        code, output = self.cloud.command('status', 'upgrade', 'check')
        self.assertEqual(0, code, output)
        self.assertIn('Result: Success', output)


@ddt.ddt
class RecoverTest(test_crashes.CrashTestCase):

    def recover(self, *arguments, changes=()):
        return self.cloud.command(
            'manage', 'recover', '--older-than', '0', *arguments,
            changes=changes)

    def test_without_placement_it_mends_the_rest_and_exits_with_1(self):
        server = self.cut_short('one')
        code, output = self.recover(changes=[
            {'placement': {'endpoint': f'http://{_nowhere()}'}}])
        self.assertEqual(1, code, output)
        self.assertIn('Placement cannot be asked', output)
        self.assert_shown_once(server, 'ERROR')
        self.assertEqual(0, self.recover()[0])

    @ddt.data(['--server', 'name'], ['--older-than', '-1'])
    def test_invalid_arguments_are_2(self, arguments):
        code, output = self.recover(*arguments)
        self.assertEqual(2, code, output)

    def test_without_a_database_it_ends_with_255(self):
        code, output = self.recover(changes=[_no_database()])
        self.assertEqual(255, code, output)
        self.assertIn('DBConnectionError', output)
