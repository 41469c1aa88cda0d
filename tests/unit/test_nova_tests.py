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

"""Nova's own tests of its objects pass with our RequestSpec too."""

import json
import pathlib
import subprocess
import sys
import tempfile

import ddt
import testtools

from tests.unit import run_nova_tests

# Modules of Nova's tests, and how many tests they have at least.
MODULES = {
    'nova.tests.unit.objects.test_request_spec': 150,
    'nova.tests.functional.db.test_request_spec': 6,
    'nova.tests.unit.objects.test_objects': 70,
}


def run(mode, *names):
    """Run tests of Nova and return the outcome of each by its name."""
    with tempfile.NamedTemporaryFile('r') as report:
        process = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', run_nova_tests.__name__,
             report.name, mode, *names], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
            cwd=pathlib.Path(__file__).parents[2])
        if process.returncode:
            raise RuntimeError(process.stdout)
        return json.load(report)


def passed(outcomes):
    """Return the names of the tests that passed."""
    return {name for name, outcome in outcomes.items() if outcome == 'passed'}


@ddt.ddt
class NovaTestsTest(testtools.TestCase):

    @ddt.data(*MODULES)
    def test_what_passes_without_us_passes_with_us(self, module):
        with_us = run('ours', module)
        self.assertGreaterEqual(len(with_us), MODULES[module])
        others = sorted(set(with_us) - passed(with_us))
        # Few or none: they are run once more, as they are in Nova.
        without_us = run('stock', *others) if others else {}
        self.assertEqual(
            {}, {name: with_us[name] for name in passed(without_us)})
