# SPDX-License-Identifier: Apache-2.0

"""A server that cannot be read or written hides no others."""

import io
import sys

import ddt
import fixtures
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_utils import fixture as utils_fixture
import testtools

from cell0_rebuild.cmd import logs
from cell0_rebuild.wait.census import buried
from cell0_rebuild.wait.census import eligibility
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait.effects import operator_actions
from cell0_rebuild.wait.effects import shown_status
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import wishes
from tests.unit.wait import samples

SITE = wishes.Site('all', 24 * samples.HOUR, 24 * samples.HOUR)
REFUSED = db_exc.DBDataError('Incorrect string value')
AWAY = db_exc.DBConnectionError()


@ddt.ddt
class WritesTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.written, self.error = [], REFUSED
        for name in ('notices._write', 'shown_status._show_build',
                     'shown_status.show_error'):
            self.patch(name, self.write)
        self.patch('notices.messages', lambda context, uuids: {})

    def patch(self, name, value):
        self.useFixture(fixtures.MonkeyPatch(
            f'cell0_rebuild.wait.effects.{name}', value))

    def write(self, context, uuid, message=None, replaces=None):
        """Write a row, which a database refuses for the first server."""
        if uuid == 'first':
            raise self.error
        self.written.append(uuid)
        return True

    def publish(self):
        return notices.Notices(None).publish(
            dict.fromkeys(['first', 'other'], texts.NO_HOST_HAS_ROOM))

    def test_a_message_that_cannot_be_written_is_skipped(self):
        self.assertEqual(1, self.publish())
        self.assertEqual(['other'], self.written)
        self.assertIn('cannot be written', self.log.output)

    @ddt.data(({'first', 'other'}, set()), (set(), {'first', 'other'}))
    @ddt.unpack
    def test_a_status_that_cannot_be_written_is_skipped(self, waiting, shown):
        shown_status.ShownStatus(None).update(waiting, shown)
        self.assertEqual(['other'], self.written)

    def test_a_database_that_is_away_is_told(self):
        self.error = AWAY
        self.assertRaises(db_exc.DBConnectionError, self.publish)


class ReadsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        servers = [buried.Buried(
            uuid, 'a', created_at, False, False, {}, {}, 0, None, True, None)
            for uuid, created_at in (('first', None), ('other', samples.NOON))]
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.census.buried.pages',
            lambda *args: iter([servers])))

    def test_a_server_that_cannot_be_read_is_a_problem_of_its_own(self):
        census = eligibility.take(None, SITE)
        self.assertEqual(['other'], [one.uuid for one in census.waiting])
        self.assertEqual(['first'], [*census.problems])

    def test_the_waiting_of_the_others_can_be_ended(self):
        self.useFixture(utils_fixture.TimeFixture(samples.NOON))
        self.assertEqual(
            {'other': False}, operator_actions.all_waiting(None, SITE))


class TerminalTest(testtools.TestCase):

    def test_what_a_terminal_cannot_show_is_escaped(self):
        conf = self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.cmd.logs.cfg.CONF', cfg.ConfigOpts()))
        conf.new_value.register_opts([
            cfg.BoolOpt('debug'), cfg.StrOpt('log_file'),
            cfg.StrOpt('log_dir'), cfg.BoolOpt('use_journal'),
            cfg.BoolOpt('use_stderr')])
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_log.log.setup', lambda *args: None))
        terminal = io.TextIOWrapper(io.BytesIO(), 'ascii')
        self.useFixture(fixtures.MonkeyPatch('sys.stdout', terminal))
        logs.set_up(['command'])
        print('Not now 🙂 \udce9', file=sys.stdout, flush=True)
        self.assertEqual(
            b'Not now \\U0001f642 \\udce9\n', terminal.buffer.getvalue())
