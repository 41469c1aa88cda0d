# SPDX-License-Identifier: Apache-2.0

import datetime
import socket

import ddt
import fixtures
from nova import conf as nova_conf
from nova import context
from oslo_config import cfg
from oslo_config import fixture as config_fixture
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import probes
from cell0_rebuild.wait import options
from cell0_rebuild.wait import wish_options
from cell0_rebuild.wait import wishes

HOUR = datetime.timedelta(hours=1)

WRONG = {
    'who': 'some', 'default_time': 'soon', 'max_time': '0',
    'max_waiting_per_project': '-1', 'show': 'active', 'order': 'lifo',
    'probe_budget': '101', 'at_once': '0', 'per_minute': 'many',
    'backoff': '366d', 'backoff_max': '-5', 'pause': 'later',
    'metrics': 'localhost', 'timeout': 'long'}


@ddt.ddt
class OptionsTest(testtools.TestCase):

    def conf(self, **values):
        """Return a configuration as a file with these values gives it."""
        conf = cfg.ConfigOpts()
        options.register(conf)
        path = self.create_file(values)
        conf(['--config-file', path], project='cell0-rebuild')
        return conf

    def create_file(self, values):
        path = self.useFixture(fixtures.TempDir()).join('nova.conf')
        with open(path, 'w') as stream:
            stream.write('[cell0_rebuild_wait]\n' + ''.join(
                f'{name} = {value}\n' for name, value in values.items()))
        return path

    def test_the_defaults_can_be(self):
        conf = self.conf()
        self.assertEqual([], options.problems(conf))
        self.assertEqual(
            wishes.Site('asked', 24 * HOUR, 168 * HOUR),
            wish_options.site(conf))

    def test_registering_twice_is_harmless(self):
        conf = self.conf()
        options.register(conf)
        self.assertEqual('compute', conf.cell0_rebuild_wait.service_type)

    @ddt.data(*WRONG)
    def test_a_value_that_cannot_be_is_named_with_its_option(self, name):
        [problem] = options.problems(self.conf(**{name: WRONG[name]}))
        self.assertTrue(problem.startswith(
            f'[cell0_rebuild_wait] {name}: '), problem)
        self.assertIn(f"'{WRONG[name]}'", problem)

    def test_a_backend_that_cannot_be_is_named_without_its_password(self):
        [problem] = options.problems(self.conf(backend_url='root:secret@h'))
        self.assertIn('[cell0_rebuild_wait] backend_url: ', problem)
        self.assertNotIn('secret', problem)

    @ddt.data('file:///var/lib/nova', 'etcd3+http://h:2379', 'zake://x')
    def test_a_backend_is_a_url(self, url):
        conf = self.conf(backend_url=url)
        self.assertEqual(url, conf.cell0_rebuild_wait.backend_url)

    @ddt.unpack
    @ddt.data(('127.0.0.1:9190', ('127.0.0.1', 9190)),
              ('[::1]:9190', ('::1', 9190)), ('h:1', ('h', 1)))
    def test_metrics_are_offered_at_a_host_and_port(self, value, address):
        conf = self.conf(metrics=value)
        self.assertEqual(address, conf.cell0_rebuild_wait.metrics)

    @ddt.data('9190', ':9190', 'h:', 'h:0x1', 'h:70000', '')
    def test_metrics_are_offered_nowhere_else(self, value):
        [problem] = options.problems(self.conf(metrics=value))
        self.assertIn(f'{value!r} is no HOST:PORT', problem)

    def test_a_time_is_between_a_second_and_a_year(self):
        for value, seconds in (('1', 1), ('365d', 365 * 86400)):
            conf = self.conf(max_time=value)
            self.assertEqual(datetime.timedelta(seconds=seconds),
                             conf.cell0_rebuild_wait.max_time)

    def test_a_request_is_not_waited_for_without_end(self):
        self.assertEqual(60, self.conf().cell0_rebuild_wait.timeout)

    def test_no_service_is_waited_for_without_end(self):
        conf = self.useFixture(config_fixture.Config(nova_conf.CONF)).conf
        conf([], default_config_files=[], default_config_dirs=[])
        self.addCleanup(conf.clear_default, 'timeout', 'placement')
        options.limit_times(conf)
        for group, seconds in {'placement': 10, 'neutron': 60, 'cinder': 60,
                               'glance': 60, 'cyborg': 60}.items():
            self.assertEqual(seconds, conf[group].timeout, group)
            self.addCleanup(conf.clear_default, 'timeout', group)
        conf.set_override('timeout', 5, 'neutron')
        self.assertEqual(5, conf.neutron.timeout)

    def test_a_placement_that_never_answers_is_away(self):
        conf = self.useFixture(config_fixture.Config(nova_conf.CONF)).conf
        conf([], default_config_files=[], default_config_dirs=[])
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.options._TIMEOUTS', {'placement': 1}))
        options.limit_times(conf)
        for group in options._TIMEOUTS:
            self.addCleanup(conf.clear_default, 'timeout', group)
        with socket.create_server(('127.0.0.1', 0)) as listening:
            port = listening.getsockname()[1]
            for name, value in (('auth_type', 'none'), (
                    'endpoint_override', f'http://127.0.0.1:{port}')):
                conf.set_override(name, value, 'placement')
            self.useFixture(fixtures.MonkeyPatch(
                'nova.scheduler.client.report.PLACEMENTCLIENT', None))
            self.assertRaises(
                exceptions.NoPlacement, probes.room,
                context.get_admin_context(), 'resources=VCPU:1')
