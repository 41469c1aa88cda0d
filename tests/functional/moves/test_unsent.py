# SPDX-License-Identifier: Apache-2.0

"""Creates that fail after the scheduling, before a compute is told of them.

With ``[cell0_rebuild] rebuild = never_launched`` they are buried. By default
they are not: ``test_burials``.
"""

import threading

import ddt
from oslo_db import exception as db_exc

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import databases
from tests.functional.moves import burials_base
from tests.functional.support import recovering

_MANAGER = 'nova.conductor.manager.ComputeTaskManager'


class UnsentMixin(burials_base.OutcomeMixin):

    options = {'rebuild': 'never_launched'}

    def without_quota(self, **body):
        """Create servers of which the conductor finds the quota gone."""
        return self.create_while(
            lambda: self.flags(instances=0, group='quota'), **body)

    def buried(self, server):
        """Check that a server was buried and left nothing in the cell."""
        server = self.buried_again(server)
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        found = databases.dump()['cell1']
        self.assertEqual([], databases.rows_with(server['id'], found))
        self.assertFalse(databases.has_build_request(server['id']))
        return server

    def fail_with_providers(self, *calls):
        """Have the providers of some servers not be told apart.

        :param calls: which, counted from 1.
        """
        count = []

        def fill(*args, **kwargs):
            count.append(1)
            if len(count) in calls:
                raise KeyError('device_profile_0')
        self.stub_out(burials_base.PROVIDERS, fill)

    def create_batch(self, number):
        """Create several servers at once, in the order in which Nova works."""
        self.create(name='batch', min_count=number)
        return sorted(self.api.get_servers(), key=lambda one: one['name'])


@ddt.ddt
class UnsentTest(UnsentMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder.Cinder(self))
        self._start_compute('host1')

    def test_over_quota_it_is_rebuilt(self):
        server = self.buried(self.without_quota())
        self.flags(instances=10, group='quota')
        self.assert_is_rebuilt(server, 'Quota exceeded')

    def test_without_its_providers_it_is_rebuilt(self):
        self.fail_with_providers(1)
        server = self.buried(self.create())
        self.assert_is_rebuilt(server, 'KeyError')

    def test_it_comes_back_with_what_its_owner_asked_for(self):
        group = self.api.post_server_groups(
            {'name': 'apart', 'policy': 'anti-affinity'})
        image = self.glance.auto_disk_config_enabled_image['id']
        volume = cinder.CinderFixture.SWAP_OLD_VOL
        server = self.buried(self.without_quota(
            group=group['id'], description='mine', tags=['a', 'b'],
            networks=[{'port': self.neutron.port_1['id']}],
            block_device_mapping_v2=[
                {'boot_index': 0, 'source_type': 'image', 'uuid': image,
                 'destination_type': 'local'},
                {'boot_index': -1, 'source_type': 'volume', 'uuid': volume,
                 'destination_type': 'volume'}]))
        self.flags(instances=10, group='quota')
        rebuilt = self.assert_is_rebuilt(server, 'Quota exceeded')
        self.assertEqual(['a', 'b'], rebuilt['tags'])
        self.assertEqual('mine', rebuilt['description'])
        self.assertEqual([group['id']], rebuilt['server_groups'])
        self.assertEqual(server['id'], self.neutron._ports[
            self.neutron.port_1['id']]['device_id'])
        self.assertEqual(
            [volume], [found['volumeId'] for found in
                       self.api.get_server_volumes(server['id'])])
        self.assertEqual(1, len(self.cinder.attachments(volume)))

    def test_what_its_owner_changed_meanwhile_is_kept(self):
        self.useFixture(base.Interception(
            burials_base.QUERY, after=lambda *args, **kwargs:
            self.api.put_server(self.api.get_servers()[0]['id'], {
                'server': {'description': 'late'}})))
        self.fail_with_providers(1)
        server = self.buried(self.create())
        self.assertEqual('late', server['description'])

    def test_all_of_a_request_over_quota_are_rebuilt(self):
        self.flags(cores=2, group='quota')
        self.create_while(lambda: self.flags(instances=1, group='quota'),
                          min_count=2)
        servers = [self.buried(server) for server in self.api.get_servers()]
        self.assertEqual(2, len(servers))
        self.flags(instances=10, group='quota')
        for server in servers:
            self.assert_is_rebuilt(server, 'Quota exceeded')

    def test_others_of_the_request_that_run_are_left_alone(self):
        self.fail_with_providers(2)
        running, failed, unsent = self.create_batch(3)
        running = self._wait_for_state_change(running, 'ACTIVE')
        for server in (failed, unsent):
            self.assert_is_rebuilt(self.buried(server), 'KeyError')
        self.assertEqual('ACTIVE', self.api.get_server(
            running['id'])['status'])
        self.assertNotIn('fault', self.api.get_server(running['id']))
        self.assertIsNone(databases.spec_of(running['id']).retained)
        self.assertEqual(
            1, len(self._get_allocations_by_server_uuid(running['id'])))

    def test_others_of_the_request_that_are_being_built_are_left_alone(self):
        over = threading.Event()
        self.addCleanup(over.set)
        self.useFixture(base.Interception(
            'nova.virt.fake.FakeDriver.spawn',
            after=lambda *args, **kwargs: over.wait(60)))
        self.fail_with_providers(2)
        built, failed = self.create_batch(2)
        self.buried(failed)
        over.set()
        self._wait_for_state_change(built, 'ACTIVE')
        self.assertNotIn('fault', self.api.get_server(built['id']))
        databases.spec_of(built['id'])

    def test_a_claim_that_placement_keeps_goes_with_the_rebuild(self):
        with recovering.placement_down():
            server = self.buried_again(self.without_quota())
            self._wait_for_assert(lambda: self.assertFalse(
                databases.has_build_request(server['id'])))
        self.flags(instances=10, group='quota')
        self.assert_is_rebuilt(server, 'Quota exceeded')

    def test_if_it_cannot_be_buried_its_owner_can_delete_it(self):
        tried = threading.Event()

        def fail(*args, **kwargs):
            tried.set()
            raise db_exc.DBConnectionError(Exception('down'))
        self.stub_out(f'{_MANAGER}._bury_in_cell0', fail)
        server = self.without_quota(
            networks=[{'port': self.neutron.port_1['id']}])
        self.assertTrue(tried.wait(60))
        self.assertEqual([], databases.rows_with(
            server['id'], databases.dump()['cell1']))
        self.assert_shown_once(server['id'], 'BUILD')
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual([], self.api.get_servers())

    def die(self, name, when):
        """Have the conductor die at a step, over quota; return the server."""
        died = threading.Event()

        def crash(*args, **kwargs):
            died.set()
            recovering.crash()
        self.useFixture(base.Interception(name, **{when: crash}))
        server = self.without_quota(
            networks=[{'port': self.neutron.port_1['id']}])
        self.assertTrue(died.wait(60))
        return server

    @ddt.data('nova.db.main.api.constraint', f'{_MANAGER}._bury_in_cell0')
    def test_if_the_conductor_dies_its_owner_can_delete_it(self, step):
        server = self.die(step, 'before')
        self.assert_shown_once(server['id'], 'BUILD')
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertEqual({}, self._get_allocations_by_server_uuid(
            server['id']))

    def test_if_the_conductor_dies_after_the_burial_it_is_rebuilt(self):
        server = self.die(f'{_MANAGER}._bury_in_cell0', 'after')
        server = self.buried_again(server)
        self.assertEqual(
            1, len(self._get_allocations_by_server_uuid(server['id'])))
        self.assert_shown_once(server['id'], 'ERROR')
        self.flags(instances=10, group='quota')
        self.assert_is_rebuilt(server, 'Quota exceeded')

    def test_a_rebuild_before_the_claim_is_released_keeps_its_own(self):
        over = threading.Event()

        def rebuild(*args, **kwargs):
            self.flags(instances=10, group='quota')
            [server] = self.api.get_servers()
            self.rebuild(server)
            self.active(server)
            over.set()
        self.useFixture(base.Interception(
            f'{_MANAGER}._bury_in_cell0', after=rebuild))
        released = threading.Event()
        self.useFixture(base.Interception(
            f'{_MANAGER}._cleanup_build_artifacts',
            after=lambda *args, **kwargs: released.set()))
        server = self.without_quota()
        self.assertTrue(over.wait(60))
        self.assertTrue(released.wait(60))
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])
        self.assertEqual(
            1, len(self._get_allocations_by_server_uuid(server['id'])))

    def test_one_that_its_owner_deletes_meanwhile_is_gone(self):
        self.assert_gone_if_deleted_before(
            f'{_MANAGER}._cleanup_build_artifacts')

    def test_one_that_its_owner_deletes_before_it_has_a_row_is_gone(self):
        # Nova's conductor has just looked whether there is a build request.
        self.assert_gone_if_deleted_before(
            'nova.availability_zones.get_host_availability_zone')

    def assert_gone_if_deleted_before(self, step):
        """Delete it before a step of the conductor, over quota."""
        self.useFixture(base.Interception(
            burials_base.QUERY, after=lambda *args, **kwargs:
            self.flags(instances=0, group='quota')))
        ended = threading.Event()

        def delete(*args, **kwargs):
            self.api.delete_server(self.api.get_servers()[0]['id'])
        self.useFixture(base.Interception(step, before=delete))
        self.useFixture(base.Interception(
            f'{_MANAGER}._cleanup_build_artifacts',
            after=lambda *args, **kwargs: ended.set()))
        server = self.create()
        self.assertTrue(ended.wait(60))
        self._wait_until_deleted(server)
        self.assertEqual([], self.api.get_servers())
