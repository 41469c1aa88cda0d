# SPDX-License-Identifier: Apache-2.0

"""Programs that the tests start, and wait for."""

import fixtures
import testtools

from tests.integration import processes


class WaitTest(testtools.TestCase):

    def start(self, *command):
        """Start a program that ends with the test."""
        folder = self.useFixture(fixtures.TempDir()).path
        programs = processes.Processes(folder)
        self.addCleanup(programs.end)
        return programs.start('program', *command)

    def test_what_was_ready_once_is_ready(self):
        # A broker, asked again, may have noticed that its consumer died.
        answers = [False, True, False]
        process = self.start('sleep', '60')
        self.assertIs(process, process.wait_until(
            lambda: answers.pop(0), 'it', 5))
        self.assertEqual([False], answers)

    def test_what_ended_and_is_not_ready_is_an_error(self):
        process = self.start('sh', '-c', 'echo said; exit 3')
        error = self.assertRaises(
            processes.ProcessError, process.wait_until, lambda: False, 'it', 5)
        self.assertEqual('program: it ended with code 3\nsaid\n', str(error))

    def test_what_is_never_ready_is_an_error(self):
        process = self.start('sleep', '60')
        error = self.assertRaises(
            processes.ProcessError, process.wait_until, lambda: False, 'it', 1)
        self.assertIn('it did not happen within 1 s', str(error))
