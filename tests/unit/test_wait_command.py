# SPDX-License-Identifier: Apache-2.0

"""cell0-rebuild-wait, as an operator or systemd starts it."""

import importlib.metadata
import signal
import socket

import testtools

from tests.unit import services

SECTION = 'cell0_rebuild_wait'
PROGRAM = 'cell0-rebuild-wait'
# Loaded by any Python program before its own code. A library of this name logs
# at INFO whatever the level of the others.
LIBRARY = '''
import atexit
import logging
atexit.register(logging.getLogger('oslo.messaging').info, 'A library works.')
'''
# With threads, a signal has another process begin; under eventlet, the same
# goes on.
RECOVERED = ('Waiting for capacity', 'What did not answer does so again')


class WaitCommandTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.nova = self.useFixture(services.Nova())
        self.nova.map_cell0()
        # Nobody listens there.
        self.nova.configure({SECTION: {
            'auth_type': 'password', 'auth_url': 'http://127.0.0.1:9/v3',
            'username': 'waiting', 'password': 'secret',
            'user_domain_name': 'Default'}})

    def assert_refused(self, needle, **options):
        """Check that the service does not start, and what it says."""
        self.nova.configure({SECTION: options})
        ended = self.nova.start(PROGRAM)
        self.assertEqual(2, ended.code, ended.output)
        self.assertIn(needle, ended.output)
        self.assertNotIn('Traceback', ended.output)

    def test_a_wrong_option_is_named(self):
        self.assert_refused('[cell0_rebuild_wait] who: ', who='everybody')

    def test_options_that_make_no_token_are_named(self):
        self.assert_refused('[cell0_rebuild_wait] auth_type', auth_type='')

    def test_a_backend_that_is_unknown_is_named(self):
        self.assert_refused(
            '[cell0_rebuild_wait] backend_url', backend_url='unknown://x')

    def test_metrics_that_cannot_be_served_are_named(self):
        with socket.create_server(('127.0.0.1', 0)) as listening:
            port = listening.getsockname()[1]
            self.assert_refused('[cell0_rebuild_wait] metrics',
                                metrics=f'127.0.0.1:{port}')

    def test_a_nova_that_is_not_supported_is_named(self):
        self.nova.deceive('WAITING[0]')
        for program, arguments in (
                (PROGRAM, []), (PROGRAM, ['--once']),
                ('cell0-rebuild-manage', ['wait', 'list'])):
            ended = self.nova.start(program, *arguments)
            self.assertEqual(2, ended.code, ended.output)
            self.assertIn(f'{program} cannot run with this Nova: ',
                          ended.output)
            self.assertNotIn('Traceback', ended.output)

    def test_one_sweep_without_a_database_says_so_in_a_line(self):
        self.nova.configure({'api_database': {
            'connection': 'mysql+pymysql://nova:secret@127.0.0.1:9/nova_api',
            'max_retries': '1', 'retry_interval': '0'}})
        ended = self.nova.start(PROGRAM, '--once')
        self.assertEqual(1, ended.code, ended.output)
        self.assertIn('This does not answer: ', ended.output)
        self.assertNotIn('Traceback', ended.output)

    def test_one_sweep_where_nobody_waits_does_nothing(self):
        ended = self.nova.start(PROGRAM, '--once')
        self.assertEqual(0, ended.code, ended.output)
        self.assertNotIn('wait:', ended.output)

    def test_an_answer_has_no_log_of_libraries_in_it_unless_asked(self):
        (self.nova.folder / 'sitecustomize.py').write_text(LIBRARY)
        self.nova.configure({'DEFAULT': {'debug': 'true'}})
        for program, arguments in (
                (PROGRAM, ['--dry-run']),
                ('cell0-rebuild-manage', ['wait', 'list'])):
            ended = self.nova.start(program, *arguments)
            self.assertEqual((0, ''), (ended.code, ended.answer))
            # Nova warns there of what eventlet has not patched.
            for line in ('A library works.', ' INFO ', ' DEBUG '):
                self.assertNotIn(line, ended.output)
            ended = self.nova.start(program, '--debug', *arguments)
            self.assertEqual((0, ''), (ended.code, ended.answer))
            self.assertIn('A library works.', ended.output)
            self.assertIn(' DEBUG ', ended.output)

    def test_the_version_is_that_of_the_package(self):
        ended = self.nova.start(PROGRAM, '--version')
        self.assertEqual((0, importlib.metadata.version('cell0-rebuild')),
                         (ended.code, ended.output.strip()))

    def launched(self):
        """Start the service; return it when it waits."""
        process = self.nova.launch(PROGRAM)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.read_until(process, 'Waiting for capacity')
        return process

    def read_until(self, process, *needles):
        """Read what a process says, until it says one of some things."""
        said = []
        for line in process.stdout:
            said.append(line)
            if any(needle in line for needle in needles):
                return
        self.fail(''.join(said))

    def check_ends(self, process):
        """Check that a signal ends it when its sweep has ended."""
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(0, process.returncode, said)
        self.assertIn('Stopped.', said)
        self.assertNotIn('Traceback', said)

    def read_again(self, process, who, *needles):
        """Have it read its options again, and wait for what it says."""
        self.nova.configure({SECTION: {'who': who}})
        self.nova._write()
        process.send_signal(signal.SIGHUP)
        self.read_until(process, *needles)

    def test_a_signal_ends_it_cleanly(self):
        self.check_ends(self.launched())

    def test_it_reads_its_options_again_and_still_ends_cleanly(self):
        process = self.launched()
        self.read_again(process, 'everybody', '[cell0_rebuild_wait] who: ')
        self.read_again(process, 'all', *RECOVERED)
        self.check_ends(process)

    def test_a_database_that_is_away_does_not_end_it(self):
        self.nova.configure({'api_database': {
            'connection': 'mysql+pymysql://nobody@127.0.0.1:9/nova_api',
            'max_retries': '0'}})
        process = self.nova.launch(PROGRAM)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.read_until(process, 'Nothing is rebuilt until this answers')
        self.assertIsNone(process.poll())
