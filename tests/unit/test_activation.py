# SPDX-License-Identifier: Apache-2.0

"""The oslo.config driver, and what it does to the process it runs in."""

import contextlib
import io
import subprocess
import sys
import tempfile
import types

import ddt
import fixtures
from oslo_config import cfg
from oslo_log import log
import testtools

from cell0_rebuild import activation
from cell0_rebuild import conf as options
from cell0_rebuild import exceptions
from tests import releases
from tests.unit import throwaway
from tests.unit import throwaway_base

BROKEN = 'raise RuntimeError("the module is broken")'

# An extension with one patch, of a module that is written beside it.
EXTENSION = '''
from tests.unit import throwaway

PATCHES = [throwaway.patch({module!r}, 'function', {signature!r})]
'''


def configured(program='nova-conductor', **values):
    """Return the configuration of a service, with our options set."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    with tempfile.NamedTemporaryFile('w') as file:
        file.write('\n'.join(['[cell0_rebuild]', *(
            f'{name} = {value}' for name, value in values.items())]))
        file.flush()
        conf([], prog=program, default_config_files=[file.name])
    return conf


class LoadTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.modules = self.useFixture(throwaway.Modules())

    def refused(self, *names):
        """Return the message with which extensions are refused."""
        return str(self.assertRaises(
            exceptions.PatchMismatch, activation.load, names))

    def test_the_changes_of_all_extensions_are_returned_in_order(self):
        for name in 'a', 'b':
            (self.modules.path / f'throwaway_{name}.py').write_text(
                f'PATCHES = ["{name}1", "{name}2"]')
            self.addCleanup(sys.modules.pop, f'throwaway_{name}', None)
        self.useFixture(throwaway.Extensions(
            a='throwaway_a:PATCHES', b='throwaway_b:PATCHES'))
        self.assertEqual(['b1', 'b2', 'a1', 'a2'],
                         activation.load(('b', 'a')).changes)

    def test_an_extension_that_is_not_installed_is_named(self):
        self.assertEqual(
            'no extension absent is in the namespace '
            'cell0_rebuild.extensions', self.refused('objects', 'absent'))

    def test_an_extension_whose_module_is_missing_is_named(self):
        self.useFixture(throwaway.Extensions(gone='no_such_module:PATCHES'))
        self.assertIn(
            'extension gone of the namespace cell0_rebuild.extensions cannot '
            'be loaded: ModuleNotFoundError', self.refused('objects', 'gone'))

    def test_an_extension_whose_module_is_broken_is_named(self):
        module = self.modules.write(BROKEN)
        self.useFixture(throwaway.Extensions(broken=f'{module}:PATCHES'))
        self.assertIn(
            "extension broken of the namespace cell0_rebuild.extensions "
            "cannot be loaded: RuntimeError('the module is broken')",
            self.refused('broken'))

    def test_an_extension_whose_attribute_is_missing_is_named(self):
        module = self.modules.write()
        self.useFixture(throwaway.Extensions(hollow=f'{module}:PATCHES'))
        self.assertIn(
            'extension hollow of the namespace cell0_rebuild.extensions '
            'cannot be loaded: AttributeError', self.refused('hollow'))

    def test_an_extension_that_is_not_asked_for_may_be_broken(self):
        self.useFixture(throwaway.Extensions(broken='no_such_module:PATCHES'))
        self.assertNotEqual([], activation.load(('objects',)).changes)

    def test_every_service_can_load_its_extensions(self):
        for names in activation.EXTENSIONS.values():
            activation.load(names).check()


@ddt.ddt
class CheckNovaTest(testtools.TestCase):

    def version(self, version):
        """Pretend that another Nova is installed."""
        self.useFixture(fixtures.MonkeyPatch(
            'importlib.metadata.version', {'nova': version}.__getitem__))

    def test_the_installed_nova_is_tested(self):
        activation.check_nova(configured())

    # 34.1.0.dev90 is how Nova's development branch calls itself until 35 has
    # a release candidate.
    @ddt.data('26.0.0.0rc1', '26.2.2', '30.0.0', '34.0.1.dev7', '34.2.1',
              '34.1.0.dev90')
    def test_a_release_in_the_range_is_accepted(self, version):
        self.version(version)
        activation.check_nova(configured())

    @ddt.data('25.9.9', '26.0.0.0b1', '35.0.0', '35.0.0.0rc1', '35.1.0.dev2')
    def test_a_release_outside_is_refused(self, version):
        self.version(version)
        error = self.assertRaises(
            exceptions.PatchMismatch, activation.check_nova, configured())
        self.assertEqual(
            f'Nova {version} is outside the tested range >=26.0.0.0rc1,<35; '
            f'set [cell0_rebuild] allow_untested_nova to patch it all the '
            f'same', str(error))

    @ddt.data('25.9.9', '35.0.0')
    def test_a_release_outside_is_accepted_if_it_is_allowed(self, version):
        self.version(version)
        activation.check_nova(configured(allow_untested_nova=True))


@ddt.ddt
class CheckMicroversionTest(testtools.TestCase):

    @ddt.data('2.999', releases.ADDED, '3.1', '2.0', '1.1', 'abc', 'latest',
              '2', '2.1.1', '02.1', '2.01', '')
    def test_a_number_that_nova_does_not_have_is_refused(self, number):
        error = self.assertRaises(
            exceptions.PatchMismatch, activation.check_microversion,
            configured(api_microversion=number))
        self.assertEqual(
            f'[cell0_rebuild] api_microversion = {number} is not a '
            f'microversion of this Nova, which has 2.1 to {releases.STOCK}; '
            f'leave the option unset to add one', str(error))

    @ddt.data({}, *({'api_microversion': number} for number in (
        '2.1', '2.10', '2.93', releases.STOCK)))
    def test_none_or_a_number_that_nova_has_is_accepted(self, options):
        activation.check_microversion(configured(**options))


@ddt.ddt
class ServiceOfTest(testtools.TestCase):

    def service(self, program='', prog='', modules=(), main=None):
        """Return what a process is taken for.

        :param program: the first of the process's arguments.
        :param prog: what oslo.config is given as the name of the program.
        :param modules: modules that are being imported.
        :param main: the module that is run with ``python -m``.
        """
        spec = types.SimpleNamespace(name=main) if main else None
        self.useFixture(fixtures.MonkeyPatch('sys.argv', [program]))
        self.useFixture(fixtures.MonkeyPatch('__main__.__spec__', spec))
        for module in modules:
            self.useFixture(fixtures.MonkeyPatch('sys.modules', {
                **sys.modules, module: types.ModuleType(module)}))
        return activation.service_of(configured(prog))

    @ddt.data(
        ('nova-conductor', 'nova-conductor'),
        ('nova-conductor', '/usr/bin/nova-conductor'),
        ('nova-manage', 'nova-manage'),
        ('nova-manage', '/opt/nova/bin/nova-manage'),
        ('nova-api', '/usr/bin/nova-api'),
        ('nova-api', '/usr/bin/nova-api-wsgi'),
        ('nova-api', '/usr/bin/nova-api-os-compute'))
    @ddt.unpack
    def test_a_service_is_known_by_its_script(self, service, program):
        self.assertEqual(service, self.service(program))

    @ddt.data('conductor', 'manage')
    def test_a_service_is_known_by_its_module(self, name):
        self.assertEqual(f'nova-{name}', self.service(
            f'/site-packages/nova/cmd/{name}.py', main=f'nova.cmd.{name}'))

    @ddt.data('nova.wsgi.osapi_compute', 'nova.api.openstack.compute.wsgi')
    def test_the_api_is_known_by_its_wsgi_module(self, module):
        self.assertEqual('nova-api', self.service('uwsgi', modules=[module]))

    @ddt.data('nova-api-wsgi', 'nova-api-os-compute')
    def test_the_api_is_known_by_the_name_given_to_its_configuration(
        self, prog
    ):
        self.assertEqual('nova-api', self.service('uwsgi', prog))

    def test_a_process_that_serves_both_apis_is_patched(self):
        self.assertEqual('nova-api', self.service(
            'uwsgi', 'nova-api-os-compute',
            modules=['nova.wsgi.metadata', 'nova.wsgi.osapi_compute']))

    @ddt.data(('uwsgi', 'nova.wsgi.metadata'),
              ('uwsgi', 'nova.api.metadata.wsgi'),
              ('nova-api', 'nova.wsgi.metadata'))
    @ddt.unpack
    def test_the_metadata_api_is_left_alone(self, program, module):
        self.assertIsNone(self.service(
            program, 'nova-api-metadata', modules=[module]))

    @ddt.data('nova-compute', 'nova-scheduler', 'nova-novncproxy',
              'nova-status', 'nova-api-metadata', 'neutron-server', 'python')
    def test_any_other_program_is_left_alone(self, program):
        self.assertIsNone(self.service(f'/usr/bin/{program}', program))


class DriverTest(testtools.TestCase):

    def test_a_configuration_that_is_not_the_process_wide_one_is_ignored(
        self
    ):
        self.useFixture(fixtures.MonkeyPatch('sys.argv', ['nova-scheduler']))
        folder = self.useFixture(fixtures.TempDir())
        with open(folder.join('nova.conf'), 'w') as stream:
            stream.write('[DEFAULT]\nconfig_source = cell0_rebuild\n'
                         '[cell0_rebuild]\ndriver = cell0_rebuild\n')
        conf = cfg.ConfigOpts()
        conf(['--config-file', folder.join('nova.conf')])
        self.assertEqual('cell0_rebuild', conf.cell0_rebuild.driver)
        self.assertNotIn('on_mismatch', conf.cell0_rebuild)

    def test_it_has_no_options_of_its_own(self):
        self.assertEqual([], activation.Driver().list_options_for_discovery())

    def test_importing_it_imports_nothing_that_must_come_later(self):
        found = subprocess.run(
            [sys.executable, '-c', """
import sys
import cell0_rebuild.activation
cell0_rebuild.activation.Driver()
print(sorted({'nova', 'eventlet', 'urllib3', 'oslo_context.context'}
             & set(sys.modules)))
"""], check=True, capture_output=True, text=True)
        self.assertEqual('[]\n', found.stdout)


@ddt.ddt
class ActivateTest(throwaway_base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.activation._installed', None))
        self.stderr = io.StringIO()

    def activate(self, program='nova-conductor', signature=None,
                 extension=EXTENSION, source=throwaway.SOURCE, **values):
        """Activate an extension that patches a throw-away module.

        :returns: the module.
        """
        name = self.modules.write(source)
        changes = self.modules.write(
            extension.format(module=name, signature=signature))
        self.useFixture(throwaway.Extensions(here=f'{changes}:PATCHES'))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.activation.EXTENSIONS',
            dict.fromkeys(activation.EXTENSIONS, ('here',))))
        self.useFixture(fixtures.MonkeyPatch('sys.argv', [program]))
        with contextlib.redirect_stderr(self.stderr):
            activation.activate(configured(program, **values))
            return __import__(name)

    def refused(self, *args, **kwargs):
        """Return the message with which the process ends."""
        error = self.assertRaises(SystemExit, self.activate, *args, **kwargs)
        return str(error)

    def test_a_service_is_patched_without_a_word(self):
        self.assert_patched(self.activate(), 'function')
        self.assertEqual('', self.stderr.getvalue())

    def test_a_service_that_is_patched_logs_it_once_it_can(self):
        self.useFixture(
            fixtures.MonkeyPatch('oslo_log.log.setup', lambda *_: None))
        logged = self.useFixture(fixtures.FakeLogger())
        self.activate()
        self.assertNotIn('is active in', logged.output)
        for _ in range(2):
            log.setup(cfg.CONF, 'nova')
        self.assertEqual(1, logged.output.count('is active in'))

    def test_a_service_that_needs_nothing_is_left_alone(self):
        self.assert_original(self.activate('nova-compute'), 'function')

    def test_a_service_that_needs_nothing_has_the_options(self):
        conf = cfg.ConfigOpts()
        self.useFixture(fixtures.MonkeyPatch('sys.argv', ['nova-compute']))
        conf([], default_config_files=[])
        activation.activate(conf)
        self.assertEqual('refuse', conf.cell0_rebuild.on_mismatch)

    def test_a_service_that_is_patched_is_not_looked_at_again(self):
        module = self.activate()
        wrapper = throwaway.raw(module, 'function')
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.activation.EXTENSIONS',
            {'nova-conductor': ('absent',)}))
        activation.activate(configured())
        self.assertIs(wrapper, throwaway.raw(module, 'function'))

    def test_a_mismatch_ends_the_process(self):
        message = self.refused(signature='another')
        self.assertIn('cell0-rebuild cannot patch nova-conductor: throwaway',
                      message)
        self.assertIn(':function has the signature (a, b=1) where (another) '
                      'was tested. Nothing is patched.', message)
        self.assertIn('on_mismatch = stock', message)

    def test_a_service_that_is_left_as_it_is_if_so_chosen_warns(self):
        module = self.activate(signature='another', on_mismatch='stock')
        self.assert_original(module, 'function')
        self.assertIn(
            f'WARNING: cell0-rebuild cannot patch nova-conductor: '
            f'{module.__name__}:function has the signature (a, b=1) where '
            f'(another) was tested; nothing is patched',
            self.stderr.getvalue())

    def test_a_mismatch_never_ends_the_management_command_which_warns(self):
        module = self.activate('nova-manage', signature='another')
        self.assert_original(module, 'function')
        self.assertIn(
            f'WARNING: cell0-rebuild cannot patch nova-manage: '
            f'{module.__name__}:function has the signature',
            self.stderr.getvalue())

    def test_a_bug_of_ours_ends_the_process_too(self):
        # oslo.config goes on without a driver that raises an exception.
        self.assertIn('the module is broken', self.refused(extension=BROKEN))

    def test_any_exception_ends_the_process(self):
        message = self.refused(extension='PATCHES = [None]')
        self.assertIn('cell0-rebuild cannot patch nova-conductor', message)
        self.assertIn('Traceback', self.stderr.getvalue())

    def test_an_untested_nova_ends_the_process(self):
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.activation.TESTED_NOVA', '<26'))
        self.assertIn('is outside the tested range <26', self.refused())

    @ddt.data(('answer_timeout', 'soon'), ('answer_timeout', '0'),
              ('personality_files', 'keep'), ('on_mismatch', 'shrug'),
              ('allow_untested_nova', 'perhaps'))
    @ddt.unpack
    def test_a_value_that_cannot_be_ends_the_process_and_is_named(
        self, name, value
    ):
        message = self.refused(**{name: value})
        self.assertIn(f'[cell0_rebuild] {name}: ', message)
        self.assertIn(f"'{value}'", message)

    def test_no_state_of_buried_servers_ends_the_process(self):
        self.assertIn('[cell0_rebuild] vm_states is empty',
                      self.refused(vm_states=''))

    def test_every_value_that_cannot_be_is_named(self):
        message = self.refused(answer_timeout='0', personality_files='keep')
        self.assertIn('personality_files: ', message)
        self.assertIn('answer_timeout: ', message)

    def test_a_service_that_may_runs_as_stock_with_a_wrong_value(self):
        self.assert_original(self.activate(
            answer_timeout='soon', on_mismatch='stock'), 'function')
        self.assertIn("'soon'", self.stderr.getvalue())

    def test_the_management_command_needs_none_of_the_values(self):
        self.assert_patched(
            self.activate('nova-manage', answer_timeout='soon'), 'function')

    def test_a_wrong_microversion_ends_the_api(self):
        self.assertIn('api_microversion = 2.999 is not a microversion',
                      self.refused('nova-api', api_microversion='2.999'))

    def test_only_the_api_looks_at_the_microversion(self):
        self.assert_patched(self.activate(api_microversion='2.999'),
                            'function')
