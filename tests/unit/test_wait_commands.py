# SPDX-License-Identifier: Apache-2.0

"""The command line of ``cell0-rebuild-manage wait``."""

import contextlib
import io

import ddt
import fixtures
from oslo_config import cfg
import testtools

from cell0_rebuild.cmd import arguments
from cell0_rebuild.cmd import manage

UUID = '4e6f1e5c-7a0c-4b1e-9d51-8c36e7a0f2b9'


def parse(*arguments):
    """Return what the command line gives."""
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(manage.COMMAND)
    conf(['wait', *arguments], default_config_files=[])
    return conf.command


@ddt.ddt
class ArgumentsTest(testtools.TestCase):

    def test_a_priority_can_be_negative(self):
        self.assertEqual(-3, parse('set', UUID, '--priority', '-3').priority)

    def test_a_hold_needs_no_reason(self):
        self.assertIsNone(parse('hold', UUID).reason)

    def test_a_reason_may_have_what_is_not_ascii(self):
        self.assertEqual('語 🙂', parse(
            'hold', UUID, '--reason', '語 🙂').reason)

    def test_all_are_ended_without_a_server(self):
        command = parse('end', '--all')
        self.assertEqual((True, None), (command.all, command.server))

    def test_a_server_is_written_as_nova_does(self):
        self.assertEqual(UUID, arguments.uuid_of(
            parse('release', UUID.upper())))

    def named(self, *uuids):
        """Return the UUID of a server, if these have its name."""
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.census.buried.named',
            lambda name, project_id: uuids if (
                name, project_id) == ('web', 'p') else []))
        return arguments.uuid_of(parse('hold', 'web', '--project', 'p'))

    def test_a_server_can_be_named_with_its_project(self):
        self.assertEqual(UUID, self.named(UUID))

    def test_what_is_wanted_of_a_name_is_said(self):
        for words, uuids in (('has no server', ()), (
                f'Give the UUID of one: {UUID}, other', (UUID, 'other'))):
            self.assertIn(words, str(self.assertRaises(
                arguments.NoServer, self.named, *uuids)))
        self.assertIn('or the name with --project ID', str(self.assertRaises(
            arguments.NoServer, arguments.uuid_of, parse('hold', 'web'))))

    @ddt.data(
        (), ('set', UUID), ('set', UUID, '--priority', 'high'), ('hold',),
        ('hold', UUID, '--reason', 'caf\udce9'),
        ('end',), ('end', UUID, '--all'), ('stop', UUID))
    def test_invalid_arguments_exit_with_2(self, given):
        with contextlib.redirect_stderr(io.StringIO()):
            error = self.assertRaises(SystemExit, parse, *given)
        self.assertEqual(2, error.code)
