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

"""What is checked before a commit is what is checked in CI."""

import pathlib
import re
import subprocess

import testtools

ROOT = pathlib.Path(__file__).parents[2]


class ChecksTest(testtools.TestCase):

    def test_each_check_has_a_hook(self):
        names = subprocess.run(
            [ROOT / 'tools/check.sh', '--list'], check=True,
            capture_output=True, text=True).stdout.split()
        hooks = (ROOT / '.pre-commit-config.yaml').read_text()
        self.assertEqual(names, re.findall('- id: (.*)', hooks))
        self.assertEqual(
            names, re.findall('entry: tools/check.sh (.*)', hooks))
