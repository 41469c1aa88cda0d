# SPDX-License-Identifier: Apache-2.0

"""The checks of cell0-rebuild-status."""

import datetime
import importlib.metadata
import tempfile

import fixtures
from nova.db.main import models
from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
from oslo_utils import timeutils
import testtools

from cell0_rebuild.cmd import status
from cell0_rebuild import conf
from cell0_rebuild import nova_internals
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests.functional.wait import commands

SUCCESS = upgradecheck.Code.SUCCESS
WARNING = upgradecheck.Code.WARNING
FAILURE = upgradecheck.Code.FAILURE


class Checking:
    """Runs checks."""

    checks = status.Checks()

    def assert_check(self, code, words, check):
        """Check the code and the details of a check."""
        result = check()
        self.assertEqual(code, result.code)
        if words is None:
            self.assertIsNone(result.details)
        else:
            self.assertIn(words, result.details)


class NovaTest(Checking, testtools.TestCase):
    """Without the stand-ins that Nova's own tests put into it."""

    def setUp(self):
        super().setUp()
        conf.register(cfg.CONF)

    def test_this_nova_can_be_patched(self):
        self.assert_check(SUCCESS, None, self.checks.check_nova)

    def check_changed(self, target, name):
        """Check Nova as if it had changed a function."""
        signature = target.signature
        self.addCleanup(
            object.__setattr__, target, 'signature', signature)
        object.__setattr__(target, 'signature', 'another')
        self.assert_check(
            FAILURE, f'{name} has the signature', self.checks.check_nova)

    def test_another_signature_is_a_failure(self):
        self.check_changed(
            nova_internals.DELETE_WHILE_BOOTING,
            'nova.compute.api:API._delete_while_booting')

    def test_another_signature_of_what_recover_needs_is_a_failure(self):
        self.check_changed(
            nova_internals.RECOVERY[0],
            'nova.compute.utils:add_instance_fault_from_exc')

    def test_another_nova_is_a_failure(self):
        version = importlib.metadata.version
        self.useFixture(fixtures.MonkeyPatch(
            'importlib.metadata.version', lambda name: (
                '99.0.0' if name == 'nova' else version(name))))
        self.assert_check(
            FAILURE, 'Nova 99.0.0 is outside', self.checks.check_nova)


class StatusTest(Checking, base.FunctionalTestCase):

    def test_a_nova_conf_without_the_package_is_a_warning(self):
        self.assert_check(
            WARNING, 'is not enabled', self.checks.check_enabled)

    def _parse(self, *lines):
        """Let a configuration file be that of the process."""
        parsed = cfg.ConfigOpts()
        conf.register(parsed)
        with tempfile.NamedTemporaryFile('w') as file:
            file.write('\n'.join(lines))
            file.flush()
            parsed([], default_config_files=[file.name])
        self.stub_out('oslo_config.cfg.CONF', parsed)

    def test_a_nova_conf_with_the_package_is_a_success(self):
        self._parse('[DEFAULT]', 'config_source = cell0_rebuild',
                    '[cell0_rebuild]', 'driver = cell0_rebuild')
        self.assert_check(SUCCESS, None, self.checks.check_enabled)

    def test_a_microversion_that_nova_has_not_is_a_failure(self):
        self.assert_check(SUCCESS, None, self.checks.check_microversion)
        self.flags(api_microversion='2.999', group='cell0_rebuild')
        self.assert_check(
            FAILURE, '2.999 is not a microversion',
            self.checks.check_microversion)

    def test_a_value_that_cannot_be_is_a_failure_and_stops_no_check(self):
        self.assert_check(SUCCESS, None, self.checks.check_options)
        self._parse('[cell0_rebuild]', 'answer_timeout = soon')
        self.assert_check(
            FAILURE, 'answer_timeout: ', self.checks.check_options)
        self.assert_check(
            WARNING, "'soon'", self.checks.check_conductors)

    def test_without_a_conductor_it_is_a_warning(self):
        self.assert_check(SUCCESS, None, self.checks.check_conductors)
        self.flags(answer_timeout=1, group='cell0_rebuild')
        self.stop_listening()
        self.assert_check(
            WARNING, 'No nova-conductor with cell0-rebuild answers',
            self.checks.check_conductors)

    def test_interrupted_rebuilds_are_counted(self):
        server = self.bury()
        self.useFixture(races_base.HeldMessage())
        self.rebuild(server)
        self.assert_check(SUCCESS, None, self.checks.check_stuck)
        now = timeutils.utcnow()
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_utils.timeutils.utcnow', lambda *args, **kwargs: (
                now + datetime.timedelta(hours=2))))
        self.assert_check(
            WARNING, '1 rebuilds from cell0 were interrupted. Run '
            '"cell0-rebuild-manage recover"', self.checks.check_stuck)

    def test_servers_that_can_never_be_rebuilt_are_counted(self):
        server = self.bury()
        self.bury()
        self.assert_check(SUCCESS, None, self.checks.check_unknown)
        databases.forget(server['id'])
        self.assert_check(
            SUCCESS, '1 buried servers cannot be rebuilt',
            self.checks.check_unknown)

    def test_servers_that_wait_are_a_warning_until_that_is_ended(self):
        self.addCleanup(cfg.CONF.reset)
        self.bury()
        self.assert_check(SUCCESS, None, self.checks.check_waiting)
        shown = [self.bury(metadata={'cell0_rebuild_wait': 'yes'})
                 for _ in range(2)][1]
        databases.update(
            'cell0', models.Instance, shown['id'], vm_state='building')
        self.assert_check(
            WARNING, '2 servers wait for a host, 1 of them shown as BUILD',
            self.checks.check_waiting)
        self.assert_check(
            WARNING, '"cell0-rebuild-manage wait end --all"',
            self.checks.check_waiting)
        self.assertEqual(0, commands.run('end', '--all')[0])
        self.assert_check(SUCCESS, None, self.checks.check_waiting)

    def test_who_is_shown_as_build_and_no_longer_waits_is_a_warning(self):
        server = self.bury()
        databases.update(
            'cell0', models.Instance, server['id'], vm_state='building')
        self.assert_check(
            WARNING, '1 of them shown as BUILD', self.checks.check_waiting)

    def test_who_has_expired_no_longer_waits(self):
        self.addCleanup(cfg.CONF.reset)
        server = self.bury(metadata={'cell0_rebuild_wait': '2h'})
        self.assert_check(
            WARNING, '1 servers wait for a host', self.checks.check_waiting)
        databases.update(
            'cell0', models.Instance, server['id'],
            created_at=timeutils.utcnow() - datetime.timedelta(hours=3))
        self.assert_check(SUCCESS, None, self.checks.check_waiting)

    def test_a_value_of_the_waiting_service_that_cannot_be_is_a_failure(self):
        self._parse('[cell0_rebuild_wait]', 'max_time = soon')
        self.assert_check(
            FAILURE, 'max_time: ', self.checks.check_waiting)

    def test_a_status_that_nova_api_would_refuse_to_rebuild_is_a_failure(
            self):
        self._parse('[cell0_rebuild_wait]', 'show = build')
        self.assert_check(
            FAILURE, 'show = build needs building in [cell0_rebuild] '
            'vm_states', self.checks.check_waiting)
        self._parse('[cell0_rebuild_wait]', 'show = build', '[cell0_rebuild]',
                    'vm_states = error,building')
        self.assert_check(SUCCESS, None, self.checks.check_waiting)
