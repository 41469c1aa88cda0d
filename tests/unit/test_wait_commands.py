# SPDX-License-Identifier: Apache-2.0

"""The command line of ``cell0-rebuild-manage wait``."""

import contextlib
import io

import ddt
from oslo_config import cfg
import testtools

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
        self.assertEqual(UUID, parse('release', UUID.upper()).server)

    @ddt.data(
        (), ('set', UUID), ('set', UUID, '--priority', 'high'), ('hold',),
        ('hold', 'name'), ('hold', UUID, '--reason', 'caf\udce9'),
        ('end',), ('end', UUID, '--all'), ('stop', UUID))
    def test_invalid_arguments_exit_with_2(self, arguments):
        with contextlib.redirect_stderr(io.StringIO()):
            error = self.assertRaises(SystemExit, parse, *arguments)
        self.assertEqual(2, error.code)
