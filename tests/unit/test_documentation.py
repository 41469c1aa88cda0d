# SPDX-License-Identifier: Apache-2.0

"""The documentation says what is there."""

import importlib
import re
import sys

import ddt
import fixtures
import testtools

from cell0_rebuild import nova_internals
from cell0_rebuild import patching
from cell0_rebuild.wait import values
from tests.unit import messages


@ddt.ddt
class MessagesTest(testtools.TestCase):

    @ddt.idata(messages.told())
    def test_what_a_user_is_told_is_explained(self, message):
        self.assertTrue(messages.is_in(message, 'user/errors.rst'), message)

    @ddt.idata(messages.logged())
    def test_what_is_logged_is_explained(self, message):
        self.assertTrue(messages.is_in(message, 'admin/logs.rst'), message)

    @ddt.idata(values.Code)
    def test_a_reason_to_wait_is_explained(self, code):
        for page in ('user/waiting.rst', 'admin/troubleshooting.rst'):
            self.assertTrue(messages.is_in((f'``{code.value}``',), page), page)

    def test_a_user_is_told_which_servers_can_be_rebuilt(self):
        for page, text in (
            ('user/rebuilding.rst',
             'You can rebuild the servers that Nova has buried.'),
            ('reference/rebuild.rst',
             "It extends Nova's ``rebuild`` to servers that are buried in")):
            self.assertTrue(messages.is_in((text,), page))

    @ddt.data(
        ('user/volumes.rst', 'Another image wipes the root volume'),
        ('user/volumes.rst', 'Another image wipes the volume'),
        ('user/rebuilding.rst', 'it also wipes the root volume'))
    @ddt.unpack
    def test_a_user_is_warned_of_what_wipes_a_volume(self, page, text):
        self.assertTrue([
            warning for warning in messages.warnings(page)
            if text in warning])

    def test_a_message_that_is_not_there_is_missed(self):
        self.assertFalse(messages.is_in(
            ('Server', 'is haunted.'), 'user/errors.rst'))

    def test_messages_of_every_kind_are_found(self):
        told, logged = str(messages.told()), str(messages.logged())
        for text in ('has no request spec', 'was interrupted', 'any more.',
                     'is not known. Name the image', 'from microversion 2.93',
                     'it was not ready after'):
            self.assertIn(text, told)
        for text in ('is active in', 'Mend that', 'is outside the tested',
                     'has ended or was taken', 'ended halfway'):
            self.assertIn(text, logged)


class InternalsTest(testtools.TestCase):

    def lines(self):
        """Return the generated text."""
        try:
            import sphinx  # noqa: F401
        except ImportError:
            self.skipTest('Sphinx is not installed')
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(messages.ROOT / 'doc/ext'), *sys.path]))
        self.addCleanup(sys.modules.pop, 'internals', None)
        return list(importlib.import_module('internals').lines())

    def test_every_target_is_listed_with_its_reason(self):
        text = '\n'.join([*self.lines(), ''])
        for value in vars(nova_internals).values():
            for target in value if isinstance(value, tuple) else (value,):
                if isinstance(target, patching.Target):
                    self.assertRegex(
                        text, re.escape(
                            f'   * - ``{target}({target.signature})``')
                        + f'.*\n     - {re.escape(target.reason)}\n')

    def test_what_other_releases_have_instead_is_listed(self):
        [line] = {line for line in self.lines()
                  if 'ServersController._rebuild' in line}
        self.assertIn('in 26 to 32: ``ServersController._action_rebuild(',
                      line)
        [line] = {line for line in self.lines()
                  if 'get_tpm_secret_security_constraint' in line}
        self.assertIn('not in 26 to 32', line)

    def test_what_is_changed_is_told_from_what_is_called(self):
        [first, *_] = [line for line in self.lines() if 'API.rebuild' in line]
        titles = [line for line in self.lines()
                  if line.startswith('Extension') or line == first]
        self.assertIn('changed', titles[titles.index(first) - 1])


class InstallationTest(testtools.TestCase):

    def test_no_page_has_pip_look_for_the_package_in_an_index(self):
        root = messages.ROOT
        pages = [root / 'README.rst', *root.glob('devstack/*'),
                 *root.glob('doc/source/**/*.rst'),
                 *root.glob('releasenotes/notes/*.yaml')]
        found = {str(path.relative_to(root)): re.findall(
            r'pip install (?:.*[\s\'"])?cell0-rebuild\b.*', path.read_text())
            for path in pages}
        self.assertIn('README.rst', found)
        self.assertEqual({}, {
            name: lines for name, lines in found.items() if lines})


class TablesTest(testtools.TestCase):

    def test_what_a_run_has_written_is_for_a_reader(self):
        pages = [text for path in (messages.ROOT / 'doc/source').rglob('*.rst')
                 if (text := path.read_text()).startswith('.. Written by')]
        self.assertTrue(pages)
        for text in pages:
            self.assertLess(text.count('\n   * - '), 30, text.splitlines()[0])
