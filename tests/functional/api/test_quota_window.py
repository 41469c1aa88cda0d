# SPDX-License-Identifier: Apache-2.0

"""What counts against the quota while a server is on its way.

Between nova-api and the hand-over its row in cell0 is hidden, and it has no
other. What that opens is what every create of Nova's opens, and no more.
"""

from oslo_limit import fixture as limit_fixture

from tests.functional import base

_SCHEDULING = (
    'nova.scheduler.client.query.SchedulerQueryClient.select_destinations')
# Comes next after the build request has gone.
_HANDED_OVER = (
    'nova.conductor.manager.ComputeTaskManager.'
    '_create_and_bind_arq_for_instance')
_NOTHING = {'instances': 0, 'cores': 0, 'ram': 0}
_SERVER = {'instances': 1, 'cores': 1, 'ram': 512}
# It is counted by its mapping; Placement knows nothing of it.
_MAPPING = {'instances': 1, 'cores': 0, 'ram': 0}


class WindowTestCase(base.FunctionalTestCase):

    def counted(self):
        """Return what the owner is told that he uses."""
        found = self.api.api_get('/limits').body['limits']['absolute']
        return {'instances': found['totalInstancesUsed'],
                'cores': found['totalCoresUsed'],
                'ram': found['totalRAMUsed']}

    def counted_while(self, build):
        """Return what counts from the request on, step by step.

        :param build: asks for a server and waits until it is ACTIVE.
        """
        seen = []

        def look(*args, **kwargs):
            seen.append(self.counted())
        for name, when in ((_SCHEDULING, 'before'), (_SCHEDULING, 'after'),
                           (_HANDED_OVER, 'before')):
            self.useFixture(base.Interception(name, **{when: look}))
        build()
        look()
        return seen

    def create(self):
        """Ask for a new server."""
        return self.api.post_server({
            'server': self._build_server(networks='none')})

    def build(self):
        """Create a server and wait until it is ACTIVE."""
        return self._wait_for_state_change(self.create(), 'ACTIVE')

    def race(self, ask):
        """Have a server created while another one is being scheduled.

        :param ask: asks for the other one and returns it.
        :returns: the states of the other one and of the new one.
        """
        raced = []
        self.useFixture(base.Interception(
            _SCHEDULING,
            before=lambda *args, **kwargs: raced.append(self.build())))
        asked = ask()
        self._wait_for_assert(lambda: self.assertNotEqual(
            ([], 'BUILD'),
            (raced, self.api.get_server(asked['id'])['status'])))
        self._wait_for_assert(lambda: self.assertNotEqual(
            'BUILD', self.api.get_server(asked['id'])['status']))
        return [self.api.get_server(server['id'])['status']
                for server in (asked, *raced)]

    def rebuilt(self, server):
        """Ask for a rebuild."""
        self.rebuild(server)
        return server


class _WindowTests:
    """How Nova counts is up to the class that has them."""

    hidden = _MAPPING
    claimed = _SERVER

    def only_one_core(self):
        """Set a quota that is enough for one server."""
        self.flags(cores=1, group='quota')

    def test_on_its_way_it_counts_as_a_create_does(self):
        server = self.bury()
        self.assertEqual(self.buried, self.counted())
        self._start_compute('host1')
        expected = [self.hidden, self.claimed, _SERVER, _SERVER]
        self.assertEqual(expected, self.counted_while(
            lambda: self.active(self.rebuilt(server))))
        self._delete_server(server)
        self.assertEqual(_NOTHING, self.counted())
        self.assertEqual(expected, self.counted_while(self.build))

    def test_who_fills_the_quota_meanwhile_has_it_buried_again(self):
        server = self.bury()
        self._start_compute('host1')
        self.only_one_core()
        self.assertEqual(
            ['ERROR', 'ACTIVE'], self.race(lambda: self.rebuilt(server)))
        self.assertIn(self.over, self.buried_again(server)['fault']['message'])

    def test_who_fills_the_quota_during_a_create_has_that_fail(self):
        self._start_compute('host1')
        self.only_one_core()
        self.assertEqual(['ERROR', 'ACTIVE'], self.race(self.create))

    def test_without_the_last_check_both_are_built(self):
        self.flags(recheck_quota=False, group='quota')
        server = self.bury()
        self._start_compute('host1')
        self.only_one_core()
        self.assertEqual(
            ['ACTIVE'] * 2, self.race(lambda: self.rebuilt(server)))
        self.active(server)
        for found in self.api.get_servers():
            self._delete_server(found)
        self.assertEqual(['ACTIVE'] * 2, self.race(self.create))


class DatabaseWindowTest(_WindowTests, WindowTestCase):
    """Rows in the cells are counted."""

    buried = _SERVER
    hidden = claimed = _NOTHING
    over = 'Quota exceeded for cores'


class PlacementWindowTest(_WindowTests, WindowTestCase):
    """Mappings are counted, and what Placement has."""

    buried = _MAPPING
    over = 'Quota exceeded for cores'

    def setUp(self):
        super().setUp()
        self.flags(count_usage_from_placement=True, group='quota')


class UnifiedWindowTest(_WindowTests, WindowTestCase):
    """Mappings are counted, and what Placement has; limits are Keystone's."""

    buried = _MAPPING
    over = 'class:VCPU'

    def setUp(self):
        super().setUp()
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.limits = {
            'servers': 9, 'class:VCPU': 9, 'class:MEMORY_MB': 9999,
            'class:DISK_GB': 99}
        self.useFixture(limit_fixture.LimitFixture(
            {**self.limits, 'server_metadata_items': 1},
            {self.api.project_id: self.limits}))

    def only_one_core(self):
        """Set a quota that is enough for one server."""
        self.limits['class:VCPU'] = 1
