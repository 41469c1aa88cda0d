# SPDX-License-Identifier: Apache-2.0

"""A buried server is rebuilt."""

from nova import exception
from oslo_utils.fixture import uuidsentinel

from tests.functional import base
from tests.functional.support import databases


class RebuildTest(base.FunctionalTestCase):

    def test_a_buried_server_becomes_active_under_its_own_id(self):
        server = self.bury()
        self._start_compute('host1')
        answer = self.rebuild(server)
        self.assertEqual(server['id'], answer['id'])
        self.assertEqual('BUILD', answer['status'])
        rebuilt = self.active(server)
        self.assertEqual('host1', rebuilt['OS-EXT-SRV-ATTR:host'])
        self.assertNotIn('fault', rebuilt)
        self.assertEqual(server['created'], rebuilt['created'])

    def test_the_answer_has_the_body_of_any_rebuild(self):
        server = self.bury()
        self._start_compute('host1')
        launched = self._create_server(networks='none')
        self.assertEqual(
            sorted(self.rebuild(launched)), sorted(self.rebuild(server)))
        self.active(server)

    def test_every_look_on_its_way_shows_it_once(self):
        server = self.bury()
        self._start_compute('host1')
        self.rebuild(server)
        seen = []
        while seen[-1:] != ['ACTIVE']:
            seen.append(self.api.get_server(server['id'])['status'])
            listed = [found['id'] for found in self.api.get_servers()]
            self.assertEqual([server['id']], listed)
            self.assertEqual([], self.api.get_servers(
                search_opts={'status': 'ERROR'}))
        self.assertEqual([], sorted(set(seen) - {'BUILD', 'ACTIVE'}))
        self.active(server)

    def test_nothing_of_it_is_left_in_cell0(self):
        server = self.bury(tags=['a', 'b'], metadata={'k': 'v'})
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        found = databases.dump()
        self.assertEqual(
            [], databases.rows_with(server['id'], found['cell0']))
        self.assertEqual([], found['cell0']['instance_actions_events'])
        self.assertEqual(
            [server['id']],
            [row['uuid'] for row in found['cell1']['instances']])
        self.assertEqual([], found['api']['build_requests'])
        self.assertEqual(
            ['instance_mappings', 'request_specs'],
            databases.rows_with(server['id'], found['api']))
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assertNotIn('cell0_rebuild', str(found))

    def test_it_is_allocated_once_on_its_host(self):
        server = self.bury()
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.assertFlavorMatchesUsage(
            self._get_provider_uuid_by_host('host1'), self.api.get_flavor(
                self.api.get_flavors()[0]['id']))
        self.assertEqual(
            [self._get_provider_uuid_by_host('host1')],
            list(self._get_allocations_by_server_uuid(server['id'])))

    def test_an_image_need_not_be_named_for_a_launched_server_either(self):
        self._start_compute('host1')
        server = self._create_server(networks='none')
        self.rebuild(server)
        rebuilt = self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(server['image'], rebuilt['image'])
        self.assertEqual(
            ['create', 'rebuild'],
            [name for name, _results in self.actions(server)])

    def test_tags_and_metadata_and_description_come_back(self):
        given = {'tags': ['a', 'b'], 'metadata': {'k': 'v'},
                 'description': 'a description', 'user_data': 'aGVsbG8='}
        server = self.bury(**given)
        self._start_compute('host1')
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assertEqual(['a', 'b'], rebuilt['tags'])
        self.assertEqual({'k': 'v'}, rebuilt['metadata'])
        self.assertEqual('a description', rebuilt['description'])
        self.assertEqual(
            'aGVsbG8=', rebuilt['OS-EXT-SRV-ATTR:user_data'])

    def test_an_operator_of_another_project_may_rebuild_it(self):
        self.api = self.api_fixture.api
        self.api.microversion = base.STOCK
        server = self.bury()
        self.assertNotEqual('admin', server['user_id'])
        self._start_compute('host1')
        owner, self.api = self.api, base.api_client.TestOpenStackClient(
            'admin', self.api.base_url,
            project_id=uuidsentinel.operators, roles=['admin'])
        self.rebuild(server)
        self.api = owner
        rebuilt = self.active(server)
        self.assertEqual(server['tenant_id'], rebuilt['tenant_id'])
        self.assertEqual(server['user_id'], rebuilt['user_id'])
        spec = databases.spec_of(server['id'])
        self.assertEqual((server['tenant_id'], server['user_id']),
                         (spec.project_id, spec.user_id))

    def test_a_locked_server_is_rebuilt_for_an_admin_and_stays_locked(self):
        server = self.bury()
        self.api.post_server_action(
            server['id'], {'lock': {'locked_reason': 'because'}})
        self._start_compute('host1')
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assertTrue(rebuilt['locked'])
        self.assertEqual('because', rebuilt['locked_reason'])


class RebuildAgainTest(base.FunctionalTestCase):

    def test_it_is_buried_again_and_again_and_then_succeeds(self):
        server = self.bury(tags=['a'])
        for attempt in range(2):
            self.rebuild(server, name=f'attempt-{attempt}')
            again = self.buried_again(server)
            self.assertIn('No valid host', again['fault']['message'])
            self.assertEqual(f'attempt-{attempt}', again['name'])
            self.assertEqual(['a'], again['tags'])
            self.assert_shown_once(server['id'], 'ERROR')
        self._start_compute('host1')
        self.rebuild(server)
        rebuilt = self.active(server)
        self.assertEqual('attempt-1', rebuilt['name'])
        self.assertEqual(
            [('create', ['Error']), ('rebuild', ['Error']),
             ('rebuild', ['Error']), ('rebuild', ['Success'])],
            self.actions(server))

    def test_buried_again_it_is_in_cell0_alone_without_allocations(self):
        server = self.bury()
        self.rebuild(server)
        self.buried_again(server)
        found = databases.dump()
        self.assertEqual([], found['api']['build_requests'])
        self.assertEqual(
            [], databases.rows_with(server['id'], found['cell1']))
        [row] = found['cell0']['instances']
        self.assertFalse(row['hidden'])
        self.assertEqual('error', row['vm_state'])
        self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id']))

    def test_over_quota_at_the_last_check_it_is_buried_again(self):
        server = self.bury()
        self._start_compute('host1')

        def over(*args, **kwargs):
            raise exception.TooManyInstances(
                overs='instances', req=1, used=10, allowed=10)
        self.stub_out('nova.compute.utils.check_num_instances_quota', over)
        self.rebuild(server)
        again = self.buried_again(server)
        self.assertIn('Quota exceeded', again['fault']['message'])
        found = databases.dump()
        self.assertEqual(
            [], databases.rows_with(server['id'], found['cell1']))
        self._wait_for_assert(lambda: self.assertEqual(
            {}, self._get_allocations_by_server_uuid(server['id'])))
        self.assertIsNotNone(databases.spec_of(server['id']).retained)
