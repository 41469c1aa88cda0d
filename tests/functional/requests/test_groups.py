# SPDX-License-Identifier: Apache-2.0

"""Rebuilt members of server groups, where Nova once had bugs with members."""

import json

from nova.compute import manager
from nova import exception
from nova import objects
from nova.tests.functional.api import client

from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import races_base
from tests import releases

HOST = 'OS-EXT-SRV-ATTR:host'


class GroupTestCase(base.FunctionalTestCase):

    group_policy = 'anti-affinity'

    def setUp(self):
        super().setUp()
        if not releases.has('valid_group_hint'):
            self.flags(response_validation='warn', group='api')
        self.group = self.api.post_server_groups(
            {'name': 'group', 'policy': self.group_policy})

    def create(self, status, **body):
        """Return the servers of one request, members of the group."""
        before = {server['id'] for server in self.api.get_servers()}
        self.api.api_post('/servers', {
            'server': {**self._build_server(networks='none'), **body},
            'os:scheduler_hints': {'group': self.group['id']}})
        return [self._wait_for_state_change(server, status)
                for server in self.api.get_servers()
                if server['id'] not in before]

    def members(self):
        """Return the members that Nova shows."""
        return self.api.api_get(
            f'/os-server-groups/{self.group["id"]}').body[
                'server_group']['members']


class AntiAffinityTest(GroupTestCase):

    # Nova's bug 1781710.
    def test_members_of_one_request_each_get_a_host_of_their_own(self):
        servers = self.create('ERROR', min_count=2)
        for host in ('host1', 'host2'):
            self._start_compute(host)
        for server in servers:
            self.rebuild(server)
            self.active(server)
        self.assertEqual({'host1', 'host2'}, {
            self.api.get_server(server['id'])[HOST] for server in servers})

    # 1735407.
    def test_the_second_of_two_on_one_host_is_built_on_another(self):
        [server] = self.create('ERROR')
        self._start_compute('host1')
        self._start_compute('host2')
        self._meet_another_on(server, 'host1')
        self.assertEqual('host2', self.active(server)[HOST])

    # 1996732.
    @releases.needs('policy_exception')
    def test_that_is_no_failed_build_of_the_host(self):
        [server] = self.create('ERROR')
        self._start_compute('host1')
        self._start_compute('host2')
        failed = []
        self.stub_out('nova.compute.manager.ComputeManager._build_failed',
                      lambda *args: failed.append(args))
        self._meet_another_on(server, 'host1')
        self.active(server)
        self.assertEqual([], failed)

    def test_the_second_of_two_on_the_only_host_fails_there(self):
        [server] = self.create('ERROR')
        self._start_compute('host1')
        self._meet_another_on(server, 'host1')
        self._wait_for_state_change(server, 'ERROR')
        self.assertEqual('cell1', databases.cell_of(server['id']))
        self.assert_refused(409, server)

    def _meet_another_on(self, server, host):
        """Rebuild a member, and let the first host have another by then."""
        check = manager.ComputeManager._validate_instance_group_policy

        def refuse(compute, context, instance, *args):
            if compute.host == host:
                raise exception.GroupAffinityViolation(
                    instance_uuid=instance.uuid, policy='Anti-affinity')
            check(compute, context, instance, *args)
        self.stub_out('nova.compute.manager.ComputeManager.'
                      '_validate_instance_group_policy', refuse)
        # The scheduler would take either host first.
        self.stub_out('nova.scheduler.manager.SchedulerManager.'
                      '_get_sorted_hosts', _sorted_by_name)
        self.rebuild(server)

    # 1682845 and 2122109.
    def test_it_stays_a_member_all_the_way(self):
        [server] = self.create('ERROR')
        self.assertEqual([server['id']], self.members())
        late = self.useFixture(races_base.HeldMessage())
        self._start_compute('host1')
        self.rebuild(server)
        self.assertEqual([server['id']], self.members())
        late.deliver()
        self.active(server)
        self.assertEqual([server['id']], self.members())
        self._delete_server(server)
        self.assertEqual([], self.members())

    # 1780373.
    def test_a_full_group_lets_its_members_be_rebuilt_and_no_more_in(self):
        self.flags(server_group_members=1, group='quota')
        [server] = self.create('ERROR')
        late = self.useFixture(races_base.HeldMessage())
        self._start_compute('host1')
        self.rebuild(server)
        for build in (lambda: None, late.deliver):
            build()
            error = self.assertRaises(
                client.OpenStackApiException, self.create, 'ACTIVE')
            self.assertEqual(403, error.response.status_code)
        self.active(server)

    # 1830747 and 1890244.
    def test_rebuilt_it_can_be_moved_when_its_group_is_gone(self):
        [server] = self.create('ERROR')
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        self.api.delete_server_group(self.group['id'])
        self._start_compute('host2')
        self.assertEqual(
            'host2', self._migrate_server(server)[HOST])


def _sorted_by_name(_manager, _spec, states, _index):
    return sorted(states, key=lambda state: state.host)


class AffinityTest(GroupTestCase):
    """There are two cells."""

    group_policy = 'affinity'
    NUMBER_OF_CELLS = 2

    # 1746863.
    def test_a_member_is_built_in_the_cell_of_the_others(self):
        [server] = self.create('ERROR')
        self._start_compute('host2', cell_name='cell2')
        [other] = self.create('ACTIVE')
        self.assertEqual('host2', other[HOST])
        self._start_compute('host1', cell_name='cell1')
        self.rebuild(server)
        self.assertEqual('host2', self.active(server)[HOST])
        self.assertEqual('cell2', databases.cell_of(server['id']))

    # 1738094.
    def test_what_may_change_of_the_group_is_not_stored(self):
        [server] = self.create('ERROR')
        self._start_compute('host1')
        self.rebuild(server)
        self.active(server)
        [row] = databases.dump()['api']['request_specs']
        group = objects.RequestSpec.obj_from_primitive(
            json.loads(row['spec'])).instance_group
        self.assertEqual(
            (self.group['id'], None, None),
            (group.uuid, group.hosts, group.members))
