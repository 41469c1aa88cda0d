# SPDX-License-Identifier: Apache-2.0

"""The development branch of Nova is told from the one that we know."""

import pathlib
import subprocess
import sys
import unittest

import ddt
import fixtures
import nova
import testtools

from tests import releases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INSTALLED = pathlib.Path(nova.__file__).parent

# What the newest release has is what the command asks for.
LACKED = [name for name in ('pci_in_placement', 'secret_security', 'threads')
          if not releases.has(name)]


@unittest.skipIf(LACKED, f'a Nova without {", ".join(LACKED)} is an old one')
@ddt.ddt
class NovaDriftTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.source = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.source / 'nova').symlink_to(INSTALLED)

    def change(self, path, old, new):
        """Have a source in which one file is another."""
        *folders, name = pathlib.Path(path).parts
        here, installed = self.source / 'nova', INSTALLED
        for folder in [*folders, name]:
            here.unlink()
            here.mkdir()
            for child in installed.iterdir():
                (here / child.name).symlink_to(child)
            here, installed = here / folder, installed / folder
        text = installed.read_text()
        self.assertIn(old, text)
        here.unlink()
        here.write_text(text.replace(old, new))

    def drifted(self):
        """Return the exit code and what is printed."""
        ended = subprocess.run(
            [sys.executable, '-W', 'ignore', ROOT / 'tools/nova_drift.py',
             self.source], stdout=subprocess.PIPE, text=True, check=False)
        return ended.returncode, ended.stdout

    def test_a_nova_that_is_known_has_not_drifted(self):
        self.assertEqual((0, '0 targets have drifted\n'), self.drifted())

    @ddt.data(
        ('conductor/manager.py', 'def _bury_in_cell0(', 'def _bury('),
        ('compute/utils.py', 'def add_instance_fault_from_exc(',
         'def add_fault('),
        # These two are missing in some releases, and may be at start.
        ('virt/hardware.py', 'def get_tpm_secret_security_constraint(',
         'def get_tpm_constraint('),
        ('objects/request_spec.py',
         'def generate_request_groups_from_pci_requests(',
         'def generate_pci_request_groups('))
    @ddt.unpack
    def test_a_function_that_is_gone_is_named(self, path, old, new):
        self.change(path, old, new)
        code, printed = self.drifted()
        self.assertEqual(1, code)
        self.assertIn(old.removeprefix('def ').rstrip('('), printed)
        self.assertIn('1 targets have drifted', printed)

    def test_a_dictionary_that_is_gone_is_named(self):
        self.change('api/openstack/compute/versions.py', 'VERSIONS = {',
                    'API_VERSIONS = {')
        code, printed = self.drifted()
        self.assertEqual(1, code)
        self.assertIn('versions:VERSIONS[v2.1][version] does not exist',
                      printed)
