# SPDX-License-Identifier: Apache-2.0

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
