# SPDX-License-Identifier: Apache-2.0

"""Rebuilds on real processes, a real broker and a real database.

See the in-process tests for what a rebuild does in every case; here is what
only separate processes and RabbitMQ can show.
"""

import contextlib
import time

from tests.integration import base
from tests.integration import cloud as clouds
from tests.integration import dump
from tests.integration import processes
from tests.integration import settings
from tests.integration import standins
from tests.integration import vanishing

CLOUD = None


def setUpModule():
    global CLOUD
    CLOUD = base.shared_cloud()


class RebuiltServerTest(base.CloudTestCase):
    """A server for which there is a host at last, after its rebuild."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        CLOUD.conductors(enabled=['one'])
        do = base.Actions(CLOUD)
        [cls.server] = do.bury()
        CLOUD.add_host('added')
        cls.answer = CLOUD.api.rebuild(cls.server)
        do.wait_for('ACTIVE', cls.server)

    def test_the_request_is_accepted_without_naming_the_image(self):
        self.assertEqual(202, self.answer.status_code, self.answer.text)
        self.assertEqual(
            f'compute {self.cloud.api.added}',
            self.answer.headers['OpenStack-API-Version'])

    def test_it_is_on_the_new_host_with_its_id_and_its_image(self):
        self.assertEqual(self.server, self.answer.json()['server']['id'])
        server = self.cloud.api.server(self.server)
        self.assertEqual('added', server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(standins.IMAGE, server['image']['id'])

    def test_one_row_in_all_databases_is_its_instance(self):
        found = self.where_it_is()
        self.assertEqual(
            {('cell1', 'instances'): 1},
            {key: found[key] for key in found if key[1].endswith('instances')})

    def test_no_table_of_cell0_has_anything_of_it(self):
        self.assertEqual(
            [], [key for key in self.where_it_is() if key[0] == 'cell0'])

    def test_its_build_request_is_gone(self):
        self.assertEqual(
            {'instance_mappings', 'request_specs'},
            {table for database, table in self.where_it_is()
             if database == 'api'})

    def test_it_has_the_resources_of_its_host_and_no_others(self):
        [hypervisor] = self.cloud.api.get(
            '/os-hypervisors?hypervisor_hostname_pattern=added'
        )['hypervisors']
        self.assertEqual(
            {hypervisor['id']: {'VCPU': 1, 'MEMORY_MB': 64, 'DISK_GB': 1}},
            self.cloud.allocations(self.server))

    def test_its_history_has_the_failed_create_and_the_rebuild(self):
        create, rebuild = self.do.history(self.server)
        self.assertEqual(('create', ['Error']), create)
        self.assertEqual(('rebuild', ['Success']), rebuild)

    def where_it_is(self):
        """Count its rows by table, once the conductor has cleared up.

        It does so after it has handed the server to the compute, which may
        be quicker.
        """
        found = {}

        def clear():
            found.clear()
            found.update(self.cloud.dump().mentions(self.server))
            return 'cell0' not in {database for database, _ in found}

        with contextlib.suppress(processes.ProcessError):
            processes.poll(clear, 'clearing up', 10)
        return found


class RefusedTest(base.CloudTestCase):
    """What is refused leaves no trace in any database."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        CLOUD.conductors(enabled=['one'])
        cls.buried = base.Actions(CLOUD).bury(5)

    def test_a_stock_microversion_does_not_rebuild_a_buried_server(self):
        self.cloud.conductors(enabled=['one'])
        before = self.cloud.dump()
        answer = self.cloud.api.rebuild(
            self.buried.pop(), self.cloud.api.stock, imageRef=standins.IMAGE)
        self.assert_refused(answer, "invalid state for 'rebuild'")
        self.assert_nothing_changed(before)

    def test_no_conductor_has_the_package_yet(self):
        self.cloud.conductors(stock=['stock'])
        # What RabbitMQ is like before the first of them has started.
        for name in ('', '.one', '.two'):
            self.cloud.broker.delete_queue(f'{clouds.TOPIC}{name}')
        self.assert_refused_soon(self.buried.pop())

    def test_no_conductor_has_the_package_any_more(self):
        self.cloud.conductors(stock=['stock'])
        self.assert_refused_soon(self.buried.pop())

    def test_a_conductor_that_comes_later_rebuilds_what_was_refused(self):
        server = self.buried.pop()
        self.cloud.conductors(stock=['stock'])
        self.assert_refused_soon(server)
        self.cloud.conductors(enabled=['one'], stock=['stock'])
        self.cloud.open_host()
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)

    def test_the_conductor_vanishes_after_it_has_answered(self):
        self.cloud.conductors(stock=['stock'])
        self.useFixture(vanishing.Conductor(self.cloud.broker))
        server = self.buried.pop()
        before = self.cloud.dump()
        answer = self.cloud.api.rebuild(server)
        self.assert_refused(
            answer, 'could not be handed to a nova-conductor')
        self.assert_nothing_changed(before, dump.UNDONE)

    def assert_refused_soon(self, server):
        """Check that the rebuild is refused, within ten seconds."""
        before = self.cloud.dump()
        began = time.monotonic()
        answer = self.cloud.api.rebuild(server)
        self.assertLess(time.monotonic() - began, 10)
        self.assert_refused(
            answer, 'no nova-conductor that can rebuild it from there answers')
        self.assert_nothing_changed(before)


class FleetTest(base.CloudTestCase):
    """Several conductors."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        CLOUD.conductors(enabled=['one'])
        cls.buried = base.Actions(CLOUD).bury(7)
        CLOUD.open_host()

    def test_rebuilds_reach_only_conductors_that_have_the_package(self):
        self.cloud.conductors(enabled=['one'], stock=['stock'])
        servers = [self.buried.pop() for _ in range(6)]
        for server in servers:
            self.do.rebuild(server)
        self.do.wait_for('ACTIVE', *servers)
        for server in servers:
            self.assert_rebuilt_by('one', server)

    def test_a_sibling_serves_when_an_idle_conductor_is_killed(self):
        self.cloud.conductors(enabled=['one', 'two'])
        self.cloud.kill_conductor('one')
        server = self.buried.pop()
        self.do.rebuild(server)
        self.do.wait_for('ACTIVE', server)
        self.assert_rebuilt_by('two', server)


class VolumeTest(base.CloudTestCase):

    def test_another_image_is_written_to_a_root_volume(self):
        self.cloud.conductors(enabled=['one'])
        server = self.do.bury_with_volume()
        self.cloud.open_host()
        answer = self.cloud.api.rebuild(server, imageRef=standins.OTHER_IMAGE)
        self.assertEqual(202, answer.status_code, answer.text)
        self.do.wait_for('ACTIVE', server)
        self.assertEqual([standins.OTHER_IMAGE],
                         list(self.cloud.cinder.written.values()))


class StartTest(base.CloudTestCase):
    """nova-api as it starts under its WSGI server."""

    def test_it_logs_that_the_package_is_active(self):
        self.assertRegex(
            self.cloud.output_of('nova-api'),
            r'cell0-rebuild \S+ is active in nova-api of Nova \S+ and '
            r'has patched nova\.')

    def test_it_does_not_start_on_a_mismatch_and_says_why(self):
        api = self.cloud.start_api('mismatch', settings.ENABLED, {
            'cell0_rebuild': {'api_microversion': '9.9'}})
        self.addCleanup(api.kill)
        api.wait_for_line('worker 1 (pid: ')
        api.wait_for_line(' died')
        self.assertIn('api_microversion = 9.9 is not a microversion',
                      api.output)
        self.assertNotIn('WSGI app 0', api.output)
