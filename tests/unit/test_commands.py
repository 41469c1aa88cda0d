# SPDX-License-Identifier: Apache-2.0

"""The commands, as an operator starts them."""

import importlib.metadata
import json

from oslo_upgradecheck import upgradecheck
import testtools

from tests.unit import services


class CommandsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.nova = self.useFixture(services.Nova())
        self.nova.configure(services.ENABLED)
        self.nova.configure({'cell0_rebuild': {'answer_timeout': '1'}})
        self.nova.map_cell0()

    def check(self):
        """Run the upgrade check; return its code and {check: result}."""
        ended = self.nova.start(
            'cell0-rebuild-status', 'upgrade', 'check', '--json')
        report = json.loads(ended.output[ended.output.index('{'):])
        return ended.code, {
            found['check']: (found['result'], found['details'])
            for found in report['checks']}

    def test_the_check_tells_what_is_well_and_that_nobody_answers(self):
        code, checks = self.check()
        self.assertEqual(1, code)
        result, details = checks.pop('Conductors')
        self.assertEqual(upgradecheck.Code.WARNING, result)
        self.assertIn('every rebuild from cell0 is refused', details)
        self.assertEqual(dict.fromkeys(
            ('Nova can be patched', 'cell0-rebuild is enabled', 'Options',
             'API microversion', 'Interrupted rebuilds',
             'Servers buried without networks', 'Servers that wait'),
            (upgradecheck.Code.SUCCESS, None)), checks)

    def test_the_check_fails_on_an_option_and_names_it(self):
        self.nova.configure({'cell0_rebuild': {'personality_files': 'keep'}})
        code, checks = self.check()
        self.assertEqual(2, code)
        result, details = checks['Options']
        self.assertEqual(upgradecheck.Code.FAILURE, result)
        self.assertIn('personality_files: ', details)
        self.assertIn("'keep'", details)

    def test_the_recovery_of_nothing_says_so(self):
        ended = self.nova.start('cell0-rebuild-manage', 'recover')
        self.assertEqual(0, ended.code, ended.output)
        self.assertIn(
            'Nothing to do. What was touched in the last 3600 s was left '
            'alone.', ended.output)

    def test_the_version_is_that_of_the_package(self):
        ended = self.nova.start('cell0-rebuild-manage', '--version')
        self.assertEqual((0, importlib.metadata.version('cell0-rebuild')),
                         (ended.code, ended.output.strip()))

    def test_an_answer_in_json_has_no_log_in_it(self):
        ended = self.nova.start(
            'cell0-rebuild-manage', '--debug', 'recover', '--format', 'json')
        self.assertIn(' DEBUG ', ended.output)
        self.assertEqual([], json.loads(ended.answer))

    def recover(self, *arguments):
        """Recover with the nova.conf of a site that debugs Nova."""
        self.nova.configure({'DEFAULT': {'debug': 'true'}})
        ended = self.nova.start(
            'cell0-rebuild-manage', *arguments, 'recover')
        self.assertEqual(0, ended.code, ended.output)
        return ended.output

    def test_the_recovery_debugs_only_if_it_is_asked_to(self):
        self.assertNotIn(' DEBUG ', self.recover())
        self.assertIn(' DEBUG ', self.recover('--debug'))
