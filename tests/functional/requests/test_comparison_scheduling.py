# SPDX-License-Identifier: Apache-2.0

"""A rebuilt server is where it would have been, had there been room."""

from tests.functional.support import databases
from tests.functional.requests import comparison_base
from tests import releases

HOST = 'OS-EXT-SRV-ATTR:host'


class SchedulingTest(comparison_base.ComparisonTestCase):
    """Left to itself the scheduler takes host2."""

    def setUp(self):
        self.flags(
            enabled_filters=[
                'ComputeFilter', 'SameHostFilter', 'DifferentHostFilter',
                'ServerGroupAffinityFilter', 'ServerGroupAntiAffinityFilter'],
            group='filter_scheduler')
        super().setUp()

    def assert_built_on_host1(self, *args, **kwargs):
        rebuilt = self.compare(*args, **kwargs)
        self.assertEqual('host1', rebuilt[HOST])
        return rebuilt

    def make_zone(self):
        aggregate = self._create_aggregate('zone', 'zone')
        self.api.add_host_to_aggregate(aggregate, 'host1')

    def make_other(self, host, hints=None):
        """Create another server, which all records call the other one."""
        body = self._build_server(networks='none', host=host)
        other = self.api.api_post('/servers', {
            'server': body, 'os:scheduler_hints': hints or {}}).body['server']
        self.others[other['id']] = '<other>'
        return self._wait_for_state_change(other, 'ACTIVE')

    def test_left_to_itself_the_scheduler_takes_host2(self):
        self.assertEqual('host2', self.compare({})[HOST])

    def test_availability_zone(self):
        self.make_zone()
        self.assert_built_on_host1({'availability_zone': 'zone'})

    def test_forced_host(self):
        self.assert_built_on_host1({'availability_zone': 'nova:host1'})

    def test_forced_host_and_node(self):
        self.assert_built_on_host1({'availability_zone': 'nova:host1:host1'})

    def test_requested_host(self):
        self.assert_built_on_host1({'host': 'host1'})

    def test_requested_hypervisor_hostname(self):
        self.assert_built_on_host1({'hypervisor_hostname': 'host1'})

    def test_hint_same_host(self):
        other = self.make_other('host1')
        self.assert_built_on_host1({'hints': {'same_host': other['id']}})

    def test_hint_different_host(self):
        other = self.make_other('host2')
        self.assert_built_on_host1(
            {'hints': {'different_host': [other['id']]}})

    def test_hints_that_no_filter_knows(self):
        rebuilt = self.compare(
            {'hints': {'mine': 'a value'}})
        self.assertEqual(
            {'mine': ['a value']},
            databases.spec_of(rebuilt['id']).scheduler_hints)

    def test_affinity_to_a_member_that_went_elsewhere(self):
        self._compare_in_group('affinity', ends_on='host1')

    def test_anti_affinity_to_a_member_that_went_elsewhere(self):
        self._compare_in_group('anti-affinity', ends_on='host2')

    def _compare_in_group(self, policy, ends_on):
        """The other member is gone, and there is a new one elsewhere."""
        if not releases.has('valid_group_hint'):
            self.flags(response_validation='warn', group='api')
        group = self.api.post_server_groups(
            {'name': 'group', 'policy': policy})
        hints = {'group': group['id']}
        there = self.make_other(ends_on, hints)

        def move(server):
            self.open()
            self._delete_server(self.other)
            self.make_other(ends_on, hints)
            self.close()
        with_deleted = (
            (r'/0/.*/(instance_group/members|group_members): .*',
             'Nova keeps members that were deleted'),)
        rebuilt = self.assert_built_on_host1(
            {'hints': hints}, meanwhile=move, meant=with_deleted,
            before=lambda: self._move_away(there, ends_on, hints))
        self.assertEqual([group['id']], rebuilt['server_groups'])

    def _move_away(self, there, ends_on, hints):
        self._delete_server(there)
        [elsewhere] = {'host1', 'host2'} - {ends_on}
        self.other = self.make_other(elsewhere, hints)

    @releases.needs_microversion('2.104')
    def test_zone_unpinned(self):
        self.make_zone()
        # Nova writes the RequestSpec again.
        rewritten = ((r'/0/rows/api/request_specs/0/spec/(.*/)?'
                      r'(nova_object.changes|id|requested_destination|'
                      r'requested_resources): .*', 'written again'),)
        rebuilt = self.compare(
            {'availability_zone': 'zone'}, {'availability_zone': None},
            meanwhile=lambda server: self.api.api_put(
                f'/servers/{server["id"]}',
                {'server': {'pinned_availability_zone': None}}),
            meant=rewritten)
        self.assertEqual('host2', rebuilt[HOST])
        self.assertIsNone(rebuilt['pinned_availability_zone'])
