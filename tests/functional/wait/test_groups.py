# SPDX-License-Identifier: Apache-2.0

"""A member of a server group waits for a host that its policy allows."""

import ddt

from cell0_rebuild.wait import texts
from tests import releases
from tests.functional import base
from tests.functional.wait import sweeping

# The first microversion with one policy and its rules.
RULES = '2.64'


@ddt.ddt
class GroupsTest(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        if not releases.has('valid_group_hint'):
            self.flags(response_validation='warn', group='api')
        self._start_compute('host2')

    def group(self, policy, **rules):
        with self.microversion_is(RULES):
            self.hint = {'group': self.api.api_post('/os-server-groups', {
                'server_group': {'name': 'a', 'policy': policy,
                                 'rules': rules}}).body['server_group']['id']}

    def create(self, status):
        """Create a member of the group."""
        server = self._build_server(networks='none')
        server['metadata'] = sweeping.WAITS
        return self._wait_for_state_change(self.api.api_post('/servers', {
            'server': server, 'os:scheduler_hints': self.hint,
        }).body['server'], status)

    def check(self, server):
        """Check that a server goes only when a third host is there."""
        swept = self.assert_left_alone(server, code='capacity')
        self.assertEqual(
            texts.GROUP_HAS_NO_HOST, swept.reasons[server['id']])
        self._start_compute('host3')
        self.sweeper.sweep()
        self.assertEqual('host3', self.active(server)[
            'OS-EXT-SRV-ATTR:host'])

    @ddt.data({}, {'max_server_per_host': 2})
    def test_full_hosts_of_an_anti_affine_group_are_no_room(self, rules):
        self.group('anti-affinity', **rules)
        for _ in range(2 * rules.get('max_server_per_host', 1)):
            self.create('ACTIVE')
        self.check(self.create('ERROR'))

    def test_only_the_host_of_an_affine_group_is_room(self):
        self.group('affinity')
        host = self.create('ACTIVE')['OS-EXT-SRV-ATTR:host']
        self.reserve_vcpus(host, 9)
        server = self.create('ERROR')
        self.assert_left_alone(server, code='capacity')
        self.reserve_vcpus(host, 8)
        self.sweeper.sweep()
        self.assertEqual(host, self.active(server)['OS-EXT-SRV-ATTR:host'])
