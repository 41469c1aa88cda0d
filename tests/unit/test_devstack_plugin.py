# SPDX-License-Identifier: Apache-2.0

"""What the DevStack plugin does to the files of Nova, without DevStack."""

import configparser
import pathlib
import subprocess
import textwrap

import ddt
import fixtures
import testtools

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / 'setup.cfg')
COMMANDS = [line.partition(' = ')[0] for line in SETUP[
    'entry_points']['console_scripts'].strip().splitlines()]

# Reads the plugin as stack.sh, unstack.sh and clean.sh do.
SOURCED = '''
set -o errexit
declare -A PROJECT_VENV=(["nova"]=/opt/stack/nova.venv)
source tests/unit/devstack_stubs.sh
source devstack/settings
source devstack/plugin.sh "$@"
'''

PLAIN = textwrap.dedent('''\
    [DEFAULT]
    debug = True

    [database]
    connection = mysql://cell0
    ''')
WITH_SOURCE = PLAIN.replace('debug', 'config_source = remote\ndebug')

ENABLED = textwrap.dedent('''\
    [DEFAULT]
    config_source = cell0_rebuild
    debug = True

    [database]
    connection = mysql://cell0

    [cell0_rebuild]
    allow_untested_nova = True
    driver = cell0_rebuild
    ''')

# What cell0-rebuild-status says.
FOUND = 'what it found\n'

WAITING = 'n-api tempest cell0-rebuild-wait'


class _DevStack(fixtures.Fixture):
    """A host of DevStack: its files, its services and what was called."""

    def _setUp(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.conf = folder / 'nova.conf'
        self.conductor = folder / 'nova_super.conf'
        self.cell = folder / 'nova_cell1.conf'
        self.compute = folder / 'nova-cpu.conf'
        self.waiting = folder / 'cell0-rebuild-wait.conf'
        self._calls = folder / 'calls'
        self._calls.touch()
        self.tempest = folder / 'tempest.conf'
        self.status = folder / 'cell0-rebuild-status'
        self.set_status(0)
        for conf in (self.conf, self.cell, self.compute):
            conf.write_text(PLAIN)
        self.variables = {
            'PATH': '/usr/bin:/bin', 'CALLS': str(self._calls),
            'SERVICES': 'n-api n-cond n-cpu', 'DEST': '/opt/stack',
            'GLOBAL_VENV': 'True', 'DEVSTACK_VENV': '/opt/stack/data/venv',
            'NOVA_CONF': str(self.conf), 'NOVA_COND_CONF': str(self.conf),
            'NOVA_CPU_CONF': str(self.compute), 'NOVA_BIN_DIR': str(folder),
            'NOVA_CONF_DIR': str(folder), 'SERVICE_PASSWORD': 'secret',
            'KEYSTONE_SERVICE_URI': 'http://here/identity',
            'REGION_NAME': 'RegionOne', 'SSL_BUNDLE_FILE': '/ca.pem',
            'TEMPEST_CONFIG': str(self.tempest)}

    def set_status(self, code):
        """Set how ``cell0-rebuild-status`` ends."""
        self.status.write_text(
            f'#!/bin/sh\necho "status $*" >> "$CALLS"\n'
            f'echo what it found\nexit {code}\n')
        self.status.chmod(0o755)

    def run(self, *phase, **variables):
        """Run the plugin for a phase; return its code and what it said."""
        ended = subprocess.run(
            ['/bin/bash', '-c', SOURCED, 'stack.sh', *phase], cwd=ROOT,
            env={**self.variables, **variables}, capture_output=True,
            text=True, check=False)
        return ended.returncode, ended.stdout

    @property
    def calls(self):
        """The functions of DevStack that were called."""
        return self._calls.read_text().splitlines()


class _TestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.devstack = self.useFixture(_DevStack())

    def run_phases(self, *phases, **variables):
        """Run phases of DevStack, which have to succeed."""
        for phase in phases:
            self.assertEqual(
                (0, ''), self.devstack.run(*phase.split(), **variables))


@ddt.ddt
class InstallTest(_TestCase):

    @ddt.data(('True', 'False', '/opt/stack/data/venv'),
              ('False', 'True', '/opt/stack/nova.venv'),
              ('False', 'False', 'the system'))
    @ddt.unpack
    def test_package_goes_where_nova_is(self, all_in_one, each, expected):
        self.run_phases('stack install', 'clean', GLOBAL_VENV=all_in_one,
                        USE_VENV=each)
        self.assertEqual(
            [f'setup_package /opt/stack/cell0-rebuild -e into {expected}',
             f'pip_uninstall cell0-rebuild from {expected}'],
            [call for call in self.devstack.calls if 'sudo' not in call])

    @ddt.data(('True', 'False', '/opt/stack/data/venv'),
              ('False', 'True', '/opt/stack/nova.venv'))
    @ddt.unpack
    def test_commands_are_where_nova_manage_is(
            self, all_in_one, each, venv):
        self.run_phases('stack install', GLOBAL_VENV=all_in_one,
                        USE_VENV=each)
        self.assertEqual(
            [f'sudo ln -sf {venv}/bin/{command} /usr/local/bin'
             for command in COMMANDS], self.devstack.calls[1:])

    def test_commands_of_the_system_are_there_already(self):
        self.run_phases('stack install', 'clean', GLOBAL_VENV='False')
        self.assertEqual(
            [], [call for call in self.devstack.calls if 'sudo' in call])

    def test_commands_are_gone_with_the_package(self):
        self.run_phases('clean')
        self.assertEqual(
            [f'sudo rm -f /usr/local/bin/{command}'
             for command in COMMANDS], self.devstack.calls[1:])

    def test_package_can_be_elsewhere(self):
        self.run_phases('stack install', CELL0_REBUILD_DIR='/src/mine')
        self.assertEqual(
            'setup_package /src/mine -e into /opt/stack/data/venv',
            self.devstack.calls[0])

    def test_install_leaves_nova_conf_alone(self):
        self.run_phases('stack install')
        self.assertEqual(PLAIN, self.devstack.conf.read_text())


@ddt.ddt
class ConfigureTest(_TestCase):

    def test_nova_conf_is_enabled(self):
        self.run_phases('stack post-config')
        self.assertEqual(ENABLED, self.devstack.conf.read_text())

    def test_conductors_of_cells_are_left_alone(self):
        self.run_phases('stack post-config')
        self.assertEqual(PLAIN, self.devstack.cell.read_text())

    def test_super_conductor_with_a_file_of_its_own_is_enabled(self):
        conductor = self.devstack.conductor
        conductor.write_text(PLAIN)
        self.run_phases('stack post-config', NOVA_COND_CONF=str(conductor))
        self.assertEqual([ENABLED] * 2, [
            self.devstack.conf.read_text(), conductor.read_text()])

    def test_background_job_that_edits_the_files_comes_first(self):
        self.run_phases('stack post-config')
        self.assertEqual(
            ['async_wait configure_neutron_nova (0)'], self.devstack.calls)

    @ddt.data('remote', 'remote, other', 'my_cell0_rebuild')
    def test_config_source_of_others_is_kept(self, before):
        self.devstack.conf.write_text(WITH_SOURCE.replace('remote', before))
        self.run_phases('stack post-config')
        self.assertIn(f'config_source = {before},cell0_rebuild\n',
                      self.devstack.conf.read_text())

    @ddt.data(PLAIN, WITH_SOURCE)
    def test_configuring_again_changes_nothing(self, before):
        self.devstack.conf.write_text(before)
        self.run_phases('stack post-config')
        once = self.devstack.conf.read_text()
        self.run_phases('stack post-config')
        self.assertEqual(once, self.devstack.conf.read_text())

    def test_untested_nova_can_be_refused(self):
        self.run_phases('stack post-config',
                        CELL0_REBUILD_ALLOW_UNTESTED_NOVA='False')
        self.assertIn('\nallow_untested_nova = False\n',
                      self.devstack.conf.read_text())

    @ddt.data({'SERVICES': 'n-cpu n-cond-cell1'},
              {'DISABLED': 'cell0-rebuild'})
    def test_host_that_does_not_need_it_is_left_alone(self, variables):
        self.run_phases('stack install', 'stack post-config',
                        'stack test-config', **variables)
        self.assertEqual(([], PLAIN), (
            self.devstack.calls, self.devstack.conf.read_text()))


@ddt.ddt
class CheckTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.devstack.conf.write_text(ENABLED)
        self.check = (
            f'status --config-file {self.devstack.conf} upgrade check')

    def test_stack_that_can_rebuild_is_good(self):
        self.assertEqual(
            (0, FOUND), self.devstack.run('stack', 'test-config'))
        self.assertEqual([self.check], self.devstack.calls)

    def test_warning_is_shown_and_fails_nothing(self):
        self.devstack.set_status(1)
        self.assertEqual(
            (0, FOUND), self.devstack.run('stack', 'test-config'))
        self.assertEqual([self.check, 'warn'], self.devstack.calls)

    @ddt.data(2, 255)
    def test_stack_that_cannot_rebuild_fails(self, status):
        self.devstack.set_status(status)
        self.assertEqual(
            (1, FOUND), self.devstack.run('stack', 'test-config'))
        self.assertEqual([self.check, 'die'], self.devstack.calls)

    @ddt.data(PLAIN, WITH_SOURCE)
    def test_file_that_no_longer_names_the_package_fails_the_stack(
            self, replaced):
        self.devstack.conf.write_text(replaced)
        self.assertEqual((1, ''), self.devstack.run('stack', 'test-config'))
        self.assertEqual(['die'], self.devstack.calls)

    def test_host_without_api_checks_nothing(self):
        self.run_phases('stack test-config', SERVICES='n-cond')
        self.assertEqual([], self.devstack.calls)


@ddt.ddt
class TempestTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.devstack.conf.write_text(ENABLED)
        self.devstack.tempest.write_text('[service_available]\nnova = True\n')

    def told(self, services='n-api tempest', options=''):
        """Configure Tempest beside options; return what it is told."""
        with self.devstack.conf.open('a') as file:
            file.write(options)
        code, _ = self.devstack.run('stack', 'test-config', SERVICES=services)
        self.assertEqual(0, code)
        config = configparser.ConfigParser()
        config.read(self.devstack.tempest)
        self.assertEqual({'nova': 'True', 'cell0_rebuild': 'True'},
                         dict(config['service_available']))
        return (dict(config['cell0_rebuild'])
                if 'cell0_rebuild' in config else None)

    def test_tests_can_run(self):
        self.assertIsNone(self.told())

    def test_microversion_is_that_of_nova(self):
        self.assertEqual({'microversion': '2.93'}, self.told(
            options='api_microversion = 2.93\n'))

    def test_servers_come_back_by_themselves(self):
        self.assertEqual({'waiting': 'True'}, self.told(WAITING))

    @ddt.data({'show': 'build'}, {'who': 'all'},
              {'who': 'all', 'show': 'build'})
    def test_what_waits_and_how_it_is_shown_is_that_of_nova(self, options):
        self.assertEqual({'waiting': 'True', **options}, self.told(
            WAITING, '\n[cell0_rebuild_wait]\n' + ''.join(
                f'{name} = {value}\n' for name, value in options.items())))

    def test_stack_without_tempest_gets_no_tempest_conf(self):
        self.devstack.tempest.unlink()
        self.assertEqual(
            (0, FOUND), self.devstack.run('stack', 'test-config'))
        self.assertFalse(self.devstack.tempest.exists())


@ddt.ddt
class WaitTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.devstack.variables['SERVICES'] += ' cell0-rebuild-wait'

    def test_user_has_a_role_that_projects_of_the_domain_inherit(self):
        self.run_phases('stack post-config', CELL0_REBUILD_WAIT_ROLE='waiter')
        self.assertEqual(
            ['get_or_create_user cell0-waiting secret default',
             'openstack --os-cloud devstack-system-admin role add --user '
             'cell0-waiting --user-domain default --domain default '
             '--inherited waiter'], self.devstack.calls[1:])

    def test_only_the_service_can_read_its_password(self):
        self.run_phases('stack post-config',
                        CELL0_REBUILD_WAIT_PASSWORD='its own')
        path = self.devstack.waiting
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        self.assertIn('\npassword = its own\n', path.read_text())
        self.assertEqual(ENABLED, self.devstack.conf.read_text())

    def test_service_reads_the_file_of_nova_api_and_its_own(self):
        self.run_phases('stack extra')
        devstack = self.devstack
        self.assertEqual(
            [f'run_process cell0-rebuild-wait '
             f'{devstack.status.parent}/cell0-rebuild-wait '
             f'--config-file {devstack.conf} '
             f'--config-file {devstack.waiting}'], devstack.calls)

    @ddt.data('n-cond cell0-rebuild-wait', 'n-api n-cond')
    def test_host_without_nova_api_or_where_it_is_off_runs_none(
            self, services):
        self.run_phases('stack post-config', 'stack extra', SERVICES=services)
        self.assertFalse(self.devstack.waiting.exists())
        self.assertEqual(1, len(self.devstack.calls), self.devstack.calls)

    @ddt.data('unstack', 'clean')
    def test_service_is_stopped_and_its_options_are_gone(self, mode):
        self.run_phases('stack post-config', mode)
        self.assertIn('stop_process cell0-rebuild-wait', self.devstack.calls)
        self.assertFalse(self.devstack.waiting.exists())


OPTIONS = '\n[cell0_rebuild]\nanswer_timeout = 9\n'


@ddt.ddt
class UndoTest(_TestCase):

    @ddt.data(*((mode, before) for mode in ('unstack', 'clean') for before in (
        PLAIN, WITH_SOURCE, WITH_SOURCE.replace(' = remote', '=a, b'),
        PLAIN + OPTIONS, PLAIN + OPTIONS + '\n[vnc]\nenabled = False\n',
        '[DEFAULT]\n')))
    @ddt.unpack
    def test_files_are_byte_for_byte_as_before(self, mode, before):
        self.devstack.conf.write_text(before)
        self.run_phases('stack post-config', mode)
        self.assertEqual(before, self.devstack.conf.read_text())

    def test_what_others_wrote_later_is_kept(self):
        self.devstack.conf.write_text(WITH_SOURCE)
        self.run_phases('stack post-config')
        written = self.devstack.conf.read_text()
        self.devstack.conf.write_text(
            written.replace(',cell0_rebuild', ',cell0_rebuild,later')
            + '\n[key_manager]\nfixed_key = 1\n')
        self.run_phases('unstack')
        self.assertEqual(
            WITH_SOURCE.replace('remote', 'remote,later')
            + '\n[key_manager]\nfixed_key = 1\n',
            self.devstack.conf.read_text())

    def test_copy_for_nova_compute_is_undone_too(self):
        self.devstack.compute.write_text(ENABLED)
        self.run_phases('unstack')
        self.assertEqual(PLAIN, self.devstack.compute.read_text())

    def test_plugin_that_was_disabled_since_is_undone_too(self):
        self.devstack.conf.write_text(ENABLED)
        self.run_phases('unstack', DISABLED='cell0-rebuild')
        self.assertEqual(PLAIN, self.devstack.conf.read_text())

    @ddt.data('unstack', 'clean')
    def test_host_that_was_never_stacked_is_no_failure(self, mode):
        self.devstack.conf.unlink()
        self.devstack.compute.unlink()
        self.run_phases(mode)
        self.assertFalse(self.devstack.conf.exists())
