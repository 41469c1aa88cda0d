# SPDX-License-Identifier: Apache-2.0

"""The command line of cell0-rebuild-manage, and what it prints."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys

import ddt
from oslo_config import cfg
import testtools

from cell0_rebuild.cmd import manage
from cell0_rebuild.move.recovery import mend

UUID = '4e6f1e5c-7a0c-4b1e-9d51-8c36e7a0f2b9'

RESULTS = [
    mend.Result('one', 'on its way', 'bury again'),
    mend.Result('two', 'built', 'finish', 'down'),
]


def parse(*arguments):
    """Return what the command line gives."""
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(manage.COMMAND)
    conf(['recover', *arguments], default_config_files=[])
    return conf.command


def printed(show, results, done='mended'):
    """Return what is printed of results."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        show(iter(results), done)
    return output.getvalue()


@ddt.ddt
class ArgumentsTest(testtools.TestCase):

    def test_by_default_all_servers_of_the_last_hour_are_left_alone(self):
        command = parse()
        self.assertEqual(
            (None, 3600, False, 'table'),
            (command.server, command.older_than, command.dry_run,
             command.format))

    def test_servers_can_be_named(self):
        self.assertEqual(
            [UUID, UUID], parse('--server', UUID, '--server', UUID).server)

    def test_an_age_can_be_given(self):
        self.assertEqual(60, parse('--older-than', '60').older_than)

    @ddt.data(
        ('--server', 'web', "'web' is not the UUID of a server."),
        ('--older-than=-1', "'-1' is not a number of seconds."),
        ('--older-than', 'x', "'x' is not a number of seconds."),
        ('--format', 'xml', 'invalid choice'))
    def test_invalid_arguments_exit_with_2_and_tell_what_is_wanted(
            self, arguments):
        *arguments, wanted = arguments
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            error = self.assertRaises(SystemExit, parse, *arguments)
        self.assertEqual(2, error.code)
        self.assertIn(wanted, errors.getvalue())


class OutputTest(testtools.TestCase):

    def test_a_table_has_a_row_for_each_server(self):
        table = printed(manage.show_table, RESULTS)
        self.assertIn(
            '| one    | on its way | bury again | mended |', table)
        self.assertIn(
            '| two    | built      | finish     | down   |', table)

    def test_many_servers_are_many_tables(self):
        many = itertools.repeat(RESULTS[0], manage.ROWS + 1)
        self.assertEqual(
            2, printed(manage.show_table, many).count('| Server '))

    def test_no_server_is_no_table(self):
        self.assertEqual('', printed(manage.show_table, []))

    def test_nothing_at_all_is_said_so(self):
        self.assertEqual('Nothing to do.', manage.nothing(0))

    def test_nothing_to_do_names_servers_that_are_too_young(self):
        self.assertEqual(
            'Nothing to do. What was touched in the last 60 s was left alone.',
            manage.nothing(60))

    def test_json_is_a_list(self):
        self.assertEqual([
            {'server': 'one', 'state': 'on its way', 'action': 'bury again',
             'result': 'would be mended'},
            {'server': 'two', 'state': 'built', 'action': 'finish',
             'result': 'down'},
        ], json.loads(printed(
            manage.show_json, RESULTS, 'would be mended')))

    def test_json_of_nothing_is_an_empty_list(self):
        self.assertEqual([], json.loads(printed(manage.show_json, [])))


class ProcessTest(testtools.TestCase):

    def test_a_database_that_is_away_exits_with_255(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'cell0_rebuild.cmd.manage',
             '--config-file', os.devnull, 'recover'],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(255, done.returncode, done.stderr)
        self.assertIn('CantStartEngineError', done.stderr)
