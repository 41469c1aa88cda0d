# SPDX-License-Identifier: Apache-2.0

"""A broken host looks empty, and does not get all servers that wait."""

import datetime
import threading
from unittest import mock

from nova import context as nova_context
from nova.db.main import models
from nova import exception
from oslo_utils import timeutils
import sqlalchemy as sa

from cell0_rebuild.wait.census import builds
from cell0_rebuild.wait.census import down_cells
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import sweeping

MANY = 20


def host_is_broken():
    """Return a context in which every build on a host fails."""
    return mock.patch(
        'nova.virt.fake.FakeDriver.spawn', autospec=True,
        side_effect=exception.HypervisorUnavailable(host='host1'))


class BrokenHostsTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.fill()
        self.servers = [self.wait_for_room() for _ in range(MANY)]
        self.make_room(MANY // 2)
        self.built = 0

    def sweep_for(self, minutes):
        """Sweep every minute, when what was sent has settled."""
        for _ in range(minutes):
            self.swept = self.sweeper.sweep()
            for uuid in self.swept.answers:
                self._wait_for_assert(lambda uuid=uuid: self.assertNotIn(
                    self.admin_api.get_server(uuid)['status'], {'BUILD'}))
            self.built_now()
            self.later += datetime.timedelta(minutes=1)

    def built_now(self):
        """Have the last builds end at the time that the service takes."""
        event = models.InstanceActionEvent.__table__
        now = self.now().utc
        with databases.engines()['cell1'].begin() as connection:
            connection.execute(event.update().where(
                event.c.id > self.built).values(
                    start_time=now, finish_time=now))
            self.built = connection.execute(
                sa.select(sa.func.max(event.c.id))).scalar() or 0

    def test_at_most_three_servers_are_spent_in_an_hour(self):
        with host_is_broken():
            self.sweep_for(60)
        self.assertIn(len(self.asked()), range(2, 4))
        self.assertEqual(
            {'broken-hosts'}, set(self.codes(self.swept).values()))

    def test_a_line_of_cron_spends_no_more(self):
        with host_is_broken():
            for _ in range(3):
                self.sweeper = self.a_sweeper()
                self.sweep_for(5)
        self.assertIn(len(self.asked()), range(2, 4))
        self.assertEqual(
            {'broken-hosts'}, set(self.codes(self.swept).values()))

    def test_who_another_service_has_sent_is_on_its_way(self):
        building, goes_on = [], threading.Event()
        self.addCleanup(goes_on.set)

        def hangs(*args, **kwargs):
            building.append(args)
            goes_on.wait(60)
        self.stub_out('nova.virt.fake.FakeDriver.spawn', hangs)
        for sent in (1, 2, 2):
            self.a_sweeper().sweep()
            self.assertEqual(sent, len(self.asked()))
            self._wait_for_assert(
                lambda sent=sent: self.assertEqual(sent, len(building)))
        goes_on.set()
        for server in self.servers:
            if server['id'] in self.asked():
                self.active(server)

    def test_all_goes_on_when_anybody_lands_on_the_host(self):
        databases.update('cell0', models.Instance, self.servers[1]['id'],
                         project_id='another')
        with host_is_broken():
            self.sweep_for(5)
        self.assertEqual(
            [server['id'] for server in self.servers[:2]], self.asked())
        self.assertEqual({'broken-hosts: Paused: builds fail on hosts.'}, {
            reason.message() for reason in self.swept.reasons.values()})
        self.created()
        self.a_sweeper().sweep()
        self.assertEqual(3, len(self.asked()))

    def test_one_build_that_is_tried_on_two_hosts_has_failed_on_both(self):
        self._start_compute('host2')
        with host_is_broken():
            self.sweep_for(1)
        [build] = builds.since(
            nova_context.get_admin_context(),
            timeutils.utcnow() - datetime.timedelta(hours=1),
            down_cells.DownCells())
        self.assertEqual({'host1', 'host2'}, build.hosts)

    def test_who_waits_for_those_being_built_is_told_so(self):
        self.fill()
        flavors = [self._create_flavor(vcpu=vcpus) for vcpus in (2, 3)]
        for flavor in flavors:
            self.wait_for_room(flavorRef=flavor)
        self.make_room(10)
        self._start_compute('host2')
        swept = self.sweeper.sweep()
        self.assertEqual(2, len(self.asked()))
        self.assertIn('when those that are being built are ACTIVE', ' '.join(
            map(str, swept.reasons.values())))
        for uuid in swept.answers:
            self.active({'id': uuid})
