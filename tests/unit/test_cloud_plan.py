# SPDX-License-Identifier: Apache-2.0

"""What the plan of a cloud says, and what a change of it changes."""

import json
import pathlib
import socket

import fixtures
import testtools
import yaml

from tests.integration import processes
from tools.cloud import contents
from tools.cloud import plan as plans
from tools.cloud import services


class PlanTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.plan = plans.Plan.make(pathlib.Path(
            self.useFixture(fixtures.TempDir()).path))
        self.plan.computes['one'] = 'cell2'

    def configurations(self):
        return {service.name: service.options
                for service in (*services.openstack(self.plan),
                                *services.waiting(self.plan),
                                *services.computes(self.plan))}

    def digests(self):
        return {service.name: service.digest
                for service in (*services.openstack(self.plan),
                                *services.waiting(self.plan))}

    def test_a_plan_that_is_saved_is_loaded_as_it_was(self):
        self.plan.save()
        self.assertEqual(self.plan, plans.Plan.load(self.plan.folder))

    def test_a_folder_without_a_plan_has_none(self):
        self.assertIsNone(plans.Plan.load(self.plan.folder))

    def test_a_plan_from_before_a_service_has_a_port_for_it(self):
        self.plan.save()
        path = self.plan.folder / 'plan.json'
        stored = json.loads(path.read_text())
        del stored['ports']['metrics']
        path.write_text(json.dumps(stored))
        loaded = plans.Plan.load(self.plan.folder)
        self.assertEqual(
            {**stored['ports'], 'metrics': loaded.ports['metrics']},
            loaded.ports)

    def test_only_the_controllers_are_told_of_the_package(self):
        self.assertEqual(
            {'nova', 'nova-scheduler', 'nova-superconductor',
             'cell0-rebuild-wait'},
            {name for name, options in self.configurations().items()
             if 'cell0_rebuild' in options})

    def test_a_stock_nova_is_told_nothing(self):
        self.plan.enabled = False
        self.plan.api_microversion = '2.93'
        self.assertNotIn('cell0_rebuild', str(self.configurations()))

    def test_a_compute_has_the_broker_of_its_cell_and_no_database(self):
        options = self.configurations()['nova-compute-one']
        self.assertTrue(
            options['DEFAULT']['transport_url'].endswith('/cell2'))
        self.assertNotIn('database', options)

    def test_what_a_change_does_not_concern_is_not_restarted(self):
        before = self.digests()
        self.plan.enabled = False
        after = self.digests()
        self.assertEqual(
            {'nova', 'nova-scheduler', 'nova-superconductor',
             'cell0-rebuild-wait'},
            {name for name in before if before[name] != after.get(name)})

    def test_servers_that_wait_are_shown_as_the_plan_says(self):
        self.plan.show = 'build'
        for name, options in self.configurations().items():
            if 'cell0_rebuild' in options:
                self.assertEqual(
                    ('build', 'error,building'),
                    (options['cell0_rebuild_wait']['show'],
                     options['cell0_rebuild']['vm_states']), name)

    def test_servers_that_are_there_already_are_not_started(self):
        self.plan.database_url = 'mysql+pymysql://user:word@host:1/'
        self.plan.broker_url = 'rabbit://user:word@host:2/'
        self.plan.memcached_url = 'memcached://host:3'
        self.assertEqual([], services.infrastructure(self.plan))
        self.assertEqual([], services.broker(self.plan))
        self.assertEqual('mysql+pymysql://user:word@host:1/nova_api'
                         '?charset=utf8mb4', self.plan.database('nova_api'))
        self.assertEqual('rabbit://user:word@host:2/cell1',
                         self.plan.broker('cell1'))
        self.assertEqual('host:3', self.plan.memcached)

    def test_nothing_is_started_whose_port_another_process_has(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            self.plan.ports['memcached'] = server.getsockname()[1]
            memcached, = [service for service in services.infrastructure(
                self.plan) if service.name == 'memcached']
            # It would end at once, and who listens would pass for it.
            memcached.command = ['sleep', '60']
            self.addCleanup(memcached.daemon.stop)
            error = self.assertRaises(processes.ProcessError, memcached.start)
        self.assertIn(f'its port, {self.plan.ports["memcached"]}', str(error))
        self.assertFalse(memcached.daemon.running)

    def test_clients_are_told_where_the_cloud_is(self):
        openrc = contents.write_access(self.plan)
        accounts = openrc.parent / 'clouds.yaml'
        self.assertIn(f'OS_CLIENT_CONFIG_FILE={accounts}\n',
                      openrc.read_text())
        self.assertEqual(
            {f'{self.plan.url("keystone")}/v3'},
            {account['auth']['auth_url'] for account in yaml.safe_load(
                accounts.read_text())['clouds'].values()})
