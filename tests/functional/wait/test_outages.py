# SPDX-License-Identifier: Apache-2.0

"""What is wrong with one server is in the way of no other."""

import datetime

import ddt
import fixtures
from neutronclient.common import exceptions as neutron_exc
from nova import context as nova_context
from nova.scheduler.client import report
from nova.tests.unit import fake_requests
from oslo_db import exception as db_exc

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import why
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import commands
from tests.functional.wait import keystone
from tests.functional.wait import sweeping


class GoneNetworkTestCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """Neutron no longer has the network of one of two servers."""

    def setUp(self):
        super().setUp()
        self.fill()
        network = self.neutron.network_1['id']
        self.bad = self.wait_for_room(networks=[{'uuid': network}])
        self.good = self.wait_for_room()
        self.make_room(5)
        show = self.neutron.show_network

        def gone(network_id, *args, **kwargs):
            if network_id == network:
                raise neutron_exc.NetworkNotFoundClient(message='It is gone.')
            return show(network_id, *args, **kwargs)
        self.useFixture(fixtures.MockPatchObject(
            self.neutron, 'show_network', gone))

    def test_another_server_is_rebuilt(self):
        swept = self.sweeper.sweep()
        self.assertEqual([self.good['id']], self.asked())
        self.assertEqual({self.bad['id']: 'blocked'}, self.codes(swept))
        self.assertIn('is gone', self.told(self.bad)[0])
        self.active(self.good)

    def test_wait_list_says_so(self):
        code, text = commands.run('list')
        self.assertEqual(0, code, text)
        self.assertIn('blocked', text)
        self.assertIn(self.good['id'], text)

    def test_why_says_so(self):
        found = why.explain(nova_context.get_admin_context(), self.bad['id'])
        self.assertEqual(values.Code.BLOCKED, found.reason.code)
        self.assertIn('is gone', str(found.reason))


@ddt.ddt
class FailedRequestTestCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """nova-api fails, or does not answer."""

    def who_wait(self, count):
        """Have servers wait for room that is there then."""
        self.fill()
        servers = [self.wait_for_room() for _ in range(count)]
        self.make_room(5)
        return servers

    def fail(self, times, code=500):
        """Have the next requests fail."""
        self.keystone.answers += [
            keystone.refusal(code, 'Unexpected.') for _ in range(times)]

    @ddt.data(500, 429, 502, 503, 504)
    def test_who_fails_rests_and_the_next_is_rebuilt(self, code):
        bad, good = self.who_wait(2)
        self.fail(1, code)
        swept = self.sweeper.sweep()
        self.assertEqual([bad['id'], good['id']], self.asked())
        self.assertEqual({bad['id']: 'away'}, self.codes(swept))
        self.active(good)

    @ddt.data(500, 504)
    def test_where_who_was_accepted_gets_no_answer_it_is_an_outage(self, code):
        accepted, *servers = self.who_wait(3)
        self.sweeper.sweep()
        self.active(accepted)
        self.fail(3, code)
        error = self.assertRaises(exceptions.NoApi, self.sweeper.sweep)
        self.assertEqual('Unexpected.', str(error))
        self.assertCountEqual(
            [server['id'] for server in (accepted, *servers)], self.asked())
        self.later += datetime.timedelta(seconds=10)
        self.sweeper.sweep()
        self.active(servers[1])

    def test_a_project_without_nova_api_rests_as_a_whole(self):
        servers = self.who_wait(2)
        self.keystone.without_endpoint = {servers[0]['tenant_id']}
        swept = self.sweeper.sweep()
        self.assertEqual(1, len(swept.answers))
        self.assertEqual({server['id']: 'blocked' for server in servers},
                         self.codes(swept))
        self.assertIn('no endpoint', self.told(servers[0])[0])


class CellTestCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """The cell to which a server is on its way is away."""

    def setUp(self):
        super().setUp()
        # In this Nova, the limits of projects are read in that cell, too.
        self.flags(order='fifo', group=keystone.GROUP)
        self.fill()
        self.sent, self.other = (self.wait_for_room() for _ in range(2))
        self.make_room(5)
        self.stub_out('nova.compute.manager.ComputeManager.'
                      'build_and_run_instance', lambda *args, **kwargs: None)
        self.sweeper.sweep()
        self._wait_for_assert(lambda: self.assertFalse(
            databases.has_build_request(self.sent['id'])))

    def test_it_counts_as_on_its_way(self):
        with databases.down('cell1'):
            swept = self.sweeper.sweep()
        self.assertEqual({}, swept.ended)
        self.assertEqual([self.sent['id'], self.other['id']], self.asked())

    def test_that_nova_api_cannot_count_there_is_no_outage(self):
        with databases.down('cell1'):
            swept = self.sweeper.sweep()
        self.assertEqual({self.other['id']: 'away'}, self.codes(swept))

    def test_a_cell_without_a_table_ends_no_sweep_and_is_said_once(self):
        log = self.useFixture(fixtures.FakeLogger('cell0_rebuild'))
        error = db_exc.DBNonExistentTable('instances')
        with databases.down('cell1', error):
            for _ in range(3):
                self.sweeper.sweep()
        self.assertIn(self.other['id'], self.asked())
        self.assertEqual(1, log.output.count('does not tell'))


class FailedProbeTestCase(sweeping.SweepMixin, base.FunctionalTestCase):
    """Placement fails for one shape of two."""

    def setUp(self):
        super().setUp()
        self.flags(order='fifo', group=keystone.GROUP)
        self.fill()
        self.bad = self.wait_for_room(
            flavorRef=self._create_flavor(vcpu=3))
        self.good = self.wait_for_room()
        self.make_room(5)
        self.failing = ('VCPU%3A3',)
        get = report.SchedulerReportClient.get

        def failing(client, url, *args, **kwargs):
            if any(part in url for part in self.failing):
                return fake_requests.FakeResponse(504, 'Too many.')
            return get(client, url, *args, **kwargs)
        self.useFixture(fixtures.MockPatchObject(
            report.SchedulerReportClient, 'get', failing))

    def test_the_other_shape_is_rebuilt(self):
        swept = self.sweeper.sweep()
        self.assertEqual([self.good['id']], self.asked())
        self.assertEqual({self.bad['id']: 'blocked'}, self.codes(swept))
        self.active(self.good)

    def test_where_placement_tells_nothing_it_is_an_outage_that_ends(self):
        self.failing = ('/',)
        for _ in range(2):
            self.assertRaises(exceptions.NoPlacement, self.sweeper.sweep)
        self.failing = ()
        self.sweeper.sweep()
        self.assertEqual([self.bad['id']], self.asked()[:1])
