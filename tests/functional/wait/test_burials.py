# SPDX-License-Identifier: Apache-2.0

"""Who asked to wait is BUILD from its burial on, if the site says so."""

import datetime

import ddt
import fixtures
from nova.tests import fixtures as nova_fixtures

from cell0_rebuild.wait import wish_options
from tests.functional import base
from tests.functional.support import counting
from tests.functional.support import databases
from tests.functional.support import recovering
from tests.functional.wait import commands
from tests.functional.wait import keystone
from tests.functional.wait import sweeping

ASKED = {'metadata': sweeping.WAITS}


class BurialCase(sweeping.SweepMixin, base.FunctionalTestCase):

    options = {'vm_states': ['error', 'building']}

    def setUp(self):
        super().setUp()
        self.flags(show='build', group=keystone.GROUP)
        self.fill()

    def bury_one(self, **body):
        """Bury a server; return it and all that was shown meanwhile."""
        server = self._build_server(networks='none')
        server.update(body)
        server = self.api.post_server({'server': server})
        seen = set()

        def buried():
            seen.add(self.api.get_server(server['id'])['status'])
            self.assertFalse(databases.has_build_request(server['id']))
        self._wait_for_assert(buried, sleep=0.01)
        seen.add(self.api.get_server(server['id'])['status'])
        return server, seen


@ddt.ddt
class BurialTest(BurialCase):

    def test_who_asked_is_never_shown_as_error(self):
        server, seen = self.bury_one(**ASKED)
        self.assertEqual({'BUILD'}, seen)
        self.assert_shown_once(server['id'], 'BUILD')
        [row] = databases.dump()['cell0']['instances']
        self.assertEqual(
            ('building', None), (row['vm_state'], row['task_state']))

    def test_the_flavor_can_ask(self):
        flavor = self._create_flavor(
            extra_spec={'cell0_rebuild:wait': 'yes'})
        _, seen = self.bury_one(flavorRef=flavor)
        self.assertEqual({'BUILD'}, seen)

    def test_all_of_one_request_are(self):
        self.bury_one(min_count=3, max_count=3, **ASKED)
        self._wait_for_assert(lambda: self.assertEqual(
            [('building', None)] * 3, [
                (row['vm_state'], row['task_state'])
                for row in databases.dump()['cell0']['instances']]))

    @ddt.data('not asked', 'refused', 'show', 'who', 'vm_states')
    def test_else_it_is_shown_as_error(self, why):
        body = ASKED
        if why == 'not asked':
            self.flags(who='all', group=keystone.GROUP)
            body = {}
        elif why == 'refused':
            body = {'metadata': {'cell0_rebuild_wait': 'no'}}
        elif why == 'show':
            self.flags(show='error', group=keystone.GROUP)
        elif why == 'who':
            self.flags(who='off', group=keystone.GROUP)
        else:
            self.flags(vm_states=['error'], group='cell0_rebuild')
        server, _ = self.bury_one(**body)
        self.assert_shown_once(server['id'], 'ERROR')

    def test_who_can_not_be_rebuilt_is_shown_as_error(self):
        def fail(*args):
            raise RuntimeError
        self.stub_out(recovering.KEEP, fail)
        server, _ = self.bury_one(**ASKED)
        self.assert_shown_once(server['id'], 'ERROR')

    @ddt.data(ValueError, AttributeError)
    def test_what_fails_is_said_and_fails_no_burial(self, error):
        log = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))

        def site(conf):
            raise error('max_time is wrong')
        self.stub_out(base.name_of(wish_options.site), site)
        server, _ = self.bury_one(**ASKED)
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertIn('not shown as BUILD: max_time is wrong', log.output)

    def test_it_comes_back_by_itself(self):
        server, _ = self.bury_one(**ASKED)
        self.make_room()
        self.sweeper.sweep()
        self.active(server)

    def test_its_time_is_over_although_no_sweep_has_seen_it_before(self):
        server, _ = self.bury_one(metadata={'cell0_rebuild_wait': '1h'})
        self.later = datetime.timedelta(hours=2)
        self.sweeper.sweep()
        self.assert_shown_once(server['id'], 'ERROR')
        self.assertIn('waits no longer', self.api.get_server(
            server['id'])['fault']['message'])

    def test_who_is_one_too_many_of_its_project_is_error_after_a_sweep(self):
        servers = [self.bury_one(**ASKED)[0] for _ in range(2)]
        for server in servers:
            self.goes_last(server)
        self.flags(max_waiting_per_project=1, group=keystone.GROUP)
        self.sweeper.sweep()
        for server, status in zip(servers, ('BUILD', 'ERROR')):
            self.assert_shown_once(server['id'], status)

    def test_without_the_service_its_owner_can_rebuild_it(self):
        server, _ = self.bury_one(**ASKED)
        self.make_room()
        self.rebuild(server)
        self.active(server)

    def test_without_the_service_an_operator_ends_it(self):
        server, _ = self.bury_one(**ASKED)
        self.assertEqual(0, commands.run('end', server['id'])[0])
        self.assert_shown_once(server['id'], 'ERROR')


class CostsTest(BurialCase):

    def setUp(self):
        super().setUp()
        self.useFixture(nova_fixtures.CastAsCallFixture(self))
        self.useFixture(nova_fixtures.SpawnIsSynchronousFixture())
        self.counts = self.useFixture(counting.CountingFixture())

    def cost(self, step, **body):
        """Return the statements and messages of a burial."""
        body = {**self._build_server(networks='none'), **body}
        with self.counts.step(step) as costs:
            self.api.post_server({'server': body})
        return costs

    def test_to_be_shown_as_build_costs_nothing(self):
        self.cost('warm-up', **ASKED)
        shown = self.cost('shown as BUILD', **ASKED)
        self.assertEqual(shown, self.cost('not asked', metadata={'a': 'b'}))
        self.flags(show='error', group=keystone.GROUP)
        self.assertEqual(shown, self.cost('shown as ERROR', **ASKED))
        self.assertEqual(['building'] * 2, [
            row['vm_state'] for row in databases.dump()['cell0']['instances']
            if row['vm_state'] != 'error'])
