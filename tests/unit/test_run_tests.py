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

"""What the runner of the tests starts them with."""

import sys

import ddt
import fixtures
import testtools

from tools import run_tests

COVERAGE = f'{sys.executable} -m coverage run'


@ddt.ddt
class WorkersTest(testtools.TestCase):

    @ddt.data(('unit', COVERAGE), ('functional', COVERAGE),
              ('eventlet', sys.executable), ('integration', sys.executable))
    @ddt.unpack
    def test_the_suites_that_count_are_measured(self, suite, worker):
        self.useFixture(
            fixtures.EnvironmentVariable('CELL0_REBUILD_COVER', 'yes'))
        self.assertEqual(worker, run_tests.environment(suite)['PYTHON'])

    def test_without_a_measurement_the_own_interpreter_runs_them(self):
        self.useFixture(fixtures.EnvironmentVariable('CELL0_REBUILD_COVER'))
        self.useFixture(fixtures.EnvironmentVariable('PYTHON', 'python3.9'))
        self.assertEqual(
            sys.executable, run_tests.environment('unit')['PYTHON'])
