# SPDX-License-Identifier: Apache-2.0

"""What is secret stays out of logs, answers and outputs."""

import argparse
import base64
import contextlib
import io
import json
import logging
import re
import sqlite3
import traceback

import sqlalchemy as sa

from cell0_rebuild.cmd import manage
from cell0_rebuild.conductor import endpoint
from tests.functional import base
from tests.functional.support import recover_base
from tests.functional.support import recovering

PASSWORD = 'Pa55w0rd-of-the-rebuild'
FILE = base64.b64encode(b'the secret in a file').decode()
USER_DATA = base64.b64encode(b'the secret in user data').decode()
SECRETS = (PASSWORD, FILE, USER_DATA)


class RecordedLogs(base.fixtures.Fixture):
    """Records what is logged at any level, with tracebacks."""

    def _setUp(self):
        self.lines = []
        handler = logging.Handler(logging.NOTSET)
        handler.emit = self._emit
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)

    def _emit(self, record):
        text = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            text += ''.join(traceback.format_exception(*record.exc_info))
        self.lines.append((record.name, record.funcName, text))

    def with_secrets(self):
        """Return {(logger, function)} of the lines that tell a secret."""
        return {(name, function) for name, function, text in self.lines
                if any(secret in text for secret in SECRETS)}


class FailingDatabase(base.fixtures.Fixture):
    """Has the first statement fail that begins so and has a secret.

    :param statement: a regular expression.
    """

    def __init__(self, statement, error):
        self._statement = statement
        self._error = error
        self.failed = []

    def _setUp(self):
        sa.event.listen(sa.engine.Engine, 'do_execute', self._execute)
        self.addCleanup(
            sa.event.remove, sa.engine.Engine, 'do_execute', self._execute)

    def _execute(self, cursor, statement, parameters, context):
        values = str(parameters)
        if not self.failed and re.match(self._statement, statement) and any(
                secret in values for secret in SECRETS):
            self.failed.append(statement)
            raise sqlite3.OperationalError(self._error)


class SecretsTestCase(base.FunctionalTestCase):

    options = {'personality_files': 'persist'}

    def setUp(self):
        super().setUp()
        self.logs = self.useFixture(RecordedLogs())

    def bury_with_secrets(self):
        """Bury a server that was created with all that is secret."""
        return self._wait_for_state_change(
            self.create_with_secrets(), 'ERROR')

    def create_with_secrets(self):
        with self.microversion_is('2.36'):
            server = self._build_server()
            return self.api.post_server({'server': dict(
                server, user_data=USER_DATA, adminPass=PASSWORD,
                personality=[{'path': '/etc/secret', 'contents': FILE}])})

    def rebuild_with_secrets(self, server, **body):
        with self.microversion_is(base.STOCK):
            self.api.post_keypair({'keypair': {
                'name': 'a key', 'type': 'ssh',
                'public_key': base.PUBLIC_KEY}})
        return self.rebuild(server, adminPass=PASSWORD, key_name='a key',
                            user_data=USER_DATA, **body)

    def assert_no_secret(self, *texts):
        """Check texts; all else of the test is in the log."""
        for secret in SECRETS:
            for text in texts:
                self.assertNotIn(secret, text)


class StockTest(SecretsTestCase):
    """What Nova itself logs, for the comparison."""

    enabled = False

    def test_nova_logs_the_body_of_a_request_and_nothing_else(self):
        self.bury_with_secrets()
        self._start_compute('host1')
        self._wait_for_state_change(self.create_with_secrets(), 'ACTIVE')
        self.assertEqual(KNOWN, self.logs.with_secrets())


# Of a request with a body that has them; passwords are masked in it.
KNOWN = {('nova.api.openstack.wsgi', '_process_stack')}


class LogTest(SecretsTestCase):

    def test_a_rebuild_logs_no_secret_that_a_create_does_not(self):
        server = self.bury_with_secrets()
        self._start_compute('host1')
        self.rebuild_with_secrets(server)
        self.active(server)
        self.assertEqual(KNOWN, self.logs.with_secrets())
        self.assertIn(
            endpoint.__name__, {name for name, _, _ in self.logs.lines})

    def test_a_rebuild_that_is_buried_again_logs_no_secret(self):
        server = self.bury_with_secrets()
        self.rebuild_with_secrets(server)
        self.buried_again(server)
        self.assertEqual(KNOWN, self.logs.with_secrets())


class FailureTest(SecretsTestCase):
    """A database fails, and says in which statement with which values."""

    def setUp(self):
        super().setUp()
        self.server = self.bury_with_secrets()
        self._start_compute('host1')

    def have_fail(self, statement, error='disk I/O error'):
        """Have a statement fail that has something secret in it."""
        database = self.useFixture(FailingDatabase(statement, error))
        self.addCleanup(
            lambda: self.assertEqual(1, len(database.failed), statement))

    def assert_only_known_lines(self):
        self.assertEqual(KNOWN, self.logs.with_secrets())
        self.assertIn('parameters hidden', ''.join(
            text for _, _, text in self.logs.lines))

    def test_a_failing_move_tells_no_user_data_in_the_log_of_the_api(self):
        self.have_fail('INSERT INTO build_requests')
        error = self.assertRaises(
            base.api_client.OpenStackApiException,
            self.rebuild_with_secrets, self.server)
        self.assert_no_secret(str(error))
        self.assert_only_known_lines()

    def test_a_failing_request_spec_tells_no_file_in_any_log(self):
        self.have_fail('UPDATE request_specs')
        error = self.assertRaises(
            base.api_client.OpenStackApiException, self.rebuild_with_secrets,
            self.server,
            imageRef=self.glance.auto_disk_config_enabled_image['id'])
        self.assert_no_secret(str(error))
        self.assert_only_known_lines()

    def test_a_conductor_that_fails_sends_no_user_data_to_the_api(self):
        # As nova-api does not write it.
        self.have_fail(
            r'UPDATE request_specs SET (spec=\?, updated_at=\?|'
            r'updated_at=\?, spec=\?) WHERE request_specs\.id = \?')
        error = self.assertRaises(
            base.api_client.OpenStackApiException,
            self.rebuild_with_secrets, self.server)
        self.assertEqual(409, error.response.status_code)
        self.assert_no_secret(str(error))
        self.assert_only_known_lines()

    def test_a_failing_build_shows_no_user_data_in_its_fault_and_event(self):
        self.have_fail('INSERT INTO instances')
        self.rebuild_with_secrets(self.server)
        server = self.buried_again(self.server)
        [action, _] = self.api.get_instance_actions(self.server['id'])
        details = self.api.get_instance_action_details(
            self.server['id'], action['request_id'])
        self.assertIn('OperationalError', server['fault']['message'])
        self.assertIn('disk I/O error', server['fault']['details'])
        self.assertNotEqual('', details['events'][0]['traceback'])
        self.assert_no_secret(json.dumps(server['fault']),
                              json.dumps(details))
        self.assert_only_known_lines()


class RecoveryTest(SecretsTestCase, recover_base.RecoverTestCase):

    def test_a_recovery_that_fails_prints_no_user_data(self):
        self.server = self.bury_anew()
        hook = self.useFixture(base.Interception(
            recovering.TAGS, before=recovering.crash))
        self.rebuild_with_secrets(self.server)
        self.late.deliver()
        self.assertEqual([], hook.waiting())
        self.useFixture(FailingDatabase('UPDATE instances', 'disk I/O error'))
        output = io.StringIO()
        with contextlib.redirect_stdout(output), (
                contextlib.redirect_stderr(output)):
            manage.recover(argparse.Namespace(
                server=None, older_than=recovering.AT_ONCE, dry_run=False,
                format='table'))
        self.assertIn('disk I/O error', output.getvalue())
        self.assert_no_secret(output.getvalue())
        self.assertEqual(KNOWN, self.logs.with_secrets())

    def bury_anew(self):
        """Bury another server, while there is a host."""
        service = self.computes['host1'].service_ref.uuid
        self.api.put_service(service, {'status': 'disabled'})
        server = self.bury_with_secrets()
        self.api.put_service(service, {'status': 'enabled'})
        return server
