# SPDX-License-Identifier: Apache-2.0

"""A broken host looks empty, and does not get all servers that wait."""

import datetime
import threading
from unittest import mock

import fixtures
from nova.db.main import models
from nova import exception
from oslo_utils import timeutils

from tests.functional import base
from tests.functional import databases
from tests.functional.wait import keystone
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

    def sweep_for(self, minutes):
        """Sweep every minute, when what was sent has settled."""
        for _ in range(minutes):
            self.swept = self.sweeper.sweep()
            for uuid in self.swept.answers:
                self._wait_for_assert(lambda uuid=uuid: self.assertNotIn(
                    self.api.get_server(uuid)['status'], {'BUILD'}))
            self.later += datetime.timedelta(minutes=1)

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

    def test_two_services_spend_no_more_than_one(self):
        sweepers = [self.sweeper, self.a_sweeper()]
        with host_is_broken():
            for _ in range(3):
                for self.sweeper in sweepers:
                    self.sweep_for(1)
        self.assertIn(len(self.asked()), range(2, 4))

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

    def test_it_goes_on_when_one_lands(self):
        log = self.useFixture(fixtures.FakeLogger(
            'cell0_rebuild.wait.sweep'))
        with host_is_broken():
            self.sweep_for(3)
        self.sweep_for(10)
        self.assertEqual(2, len(self.asked()))
        self.assertEqual(1, log.output.count('Builds fail on hosts'))
        self.assertNotIn('are sent again', log.output)
        self.sweep_for(40)
        self.assertGreater(len(self.asked()), 8)
        self.assertEqual(1, log.output.count('Builds fail on hosts'))
        self.assertEqual(1, log.output.count('are sent again'))

    def test_all_services_go_on_when_an_operator_says_so(self):
        sweepers = [self.sweeper, self.a_sweeper()]

        def sweep(*sweepers):
            for self.sweeper in sweepers:
                self.sweep_for(1)
                self.later = datetime.timedelta()
        with host_is_broken():
            sweep(*sweepers, *sweepers)
        spent = len(self.asked())
        sweep(*sweepers, self.a_sweeper())
        self.assertEqual(spent, len(self.asked()))
        self.flags(hosts_mended_at=f'{timeutils.utcnow().isoformat()}Z',
                   group=keystone.GROUP)
        for number, sweeper in enumerate([self.a_sweeper(), *sweepers], 1):
            sweep(sweeper)
            self.assertGreaterEqual(len(self.asked()), spent + number)

    def test_the_one_that_is_tried_is_of_another_project(self):
        other = self.servers[-1]
        databases.update('cell0', models.Instance, other['id'],
                         project_id='another')
        with host_is_broken():
            self.sweep_for(3)
        self.later += datetime.timedelta(minutes=30)
        self.a_sweeper().sweep()
        self.assertEqual(other['id'], self.asked()[2])

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
