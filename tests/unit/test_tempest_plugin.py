# SPDX-License-Identifier: Apache-2.0

"""Tempest finds our plugin, its options and its tests; Nova does not."""

import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import testtools

BIN = pathlib.Path(sys.executable).parent
PLUGIN = 'cell0_rebuild_tempest_plugin'

IMPORT_ALL = """
import importlib, pkgutil, sys
import cell0_rebuild
for module in pkgutil.walk_packages(cell0_rebuild.__path__, 'cell0_rebuild.'):
    importlib.import_module(module.name)
print([name for name in sys.modules if 'tempest' in name])
"""


def run(*command, folder=None):
    """Run a command that is installed beside Python; return its output."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [BIN / command[0], *command[1:]], cwd=folder, text=True,
            capture_output=True, timeout=120, check=False,
            env={**os.environ, 'HOME': home})
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


@unittest.skipUnless(importlib.util.find_spec('tempest'),
                     'Tempest is tried beside the newest Nova only')
class TempestPluginTest(testtools.TestCase):

    def test_tempest_lists_the_plugin(self):
        self.assertIn(f'{PLUGIN}.plugin:', run('tempest', 'list-plugins'))

    def test_tempest_finds_tests_that_each_have_an_id(self):
        with tempfile.TemporaryDirectory() as folder:
            run('tempest', 'init', 'cloud', folder=folder)
            listed = run('tempest', 'run', '--list-tests', '--regex', PLUGIN,
                         folder=pathlib.Path(folder, 'cloud'))
        tests = [line for line in listed.splitlines() if PLUGIN in line]
        self.assertGreaterEqual(len(tests), 15)
        ids = collections.Counter(
            re.search(r'\[.*\bid-([0-9a-f-]{36})\b.*\]$', test)[1]
            for test in tests)
        self.assertEqual([], [each for each, n in ids.items() if n > 1])

    def test_a_sample_of_tempest_conf_has_the_options(self):
        sample = run('oslo-config-generator', '--namespace', 'tempest.config')
        group = sample.partition('\n[cell0_rebuild]\n')[2]
        self.assertIn('\n#microversion = <None>', group.partition('\n[')[0])
        self.assertIn('\n#cell0_rebuild = false', sample)

    def test_nova_never_imports_tempest(self):
        self.assertEqual('[]', run('python', '-W', 'ignore', '-c', IMPORT_ALL)
                         .splitlines()[-1])
