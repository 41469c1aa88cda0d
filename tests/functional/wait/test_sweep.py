# SPDX-License-Identifier: Apache-2.0

"""A sweep rebuilds who has room and its turn, and disturbs nobody else."""

import datetime
import json
from unittest import mock

import ddt
import fixtures
from nova.db.api import models as api_models
from nova.db.main import models

from cell0_rebuild.wait.census import images
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import commands
from tests.functional.wait import keystone
from tests.functional.wait import sweeping


@ddt.ddt
class SweepTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def test_who_asked_first_comes_back_when_a_server_goes(self):
        running = self.created()
        self.reserve_vcpus('host1', 9)
        waiting = [self.wait_for_room() for _ in range(3)]
        self.assert_left_alone(*waiting, code='capacity')
        self._delete_server(running)
        swept = self.sweeper.sweep()
        self.assertEqual([waiting[0]['id']], self.asked())
        server = self.active(waiting[0])
        self.assertEqual(waiting[0]['id'], server['id'])
        self.assertEqual(
            dict.fromkeys([one['id'] for one in waiting[1:]], 'order'),
            self.codes(swept))
        swept = self.sweeper.sweep()
        self.assertEqual(
            {waiting[0]['id']: 'landed'},
            {uuid: ended.state.value
             for uuid, ended in swept.ended.items()})
        self.assertEqual(
            dict.fromkeys([one['id'] for one in waiting[1:]], 'capacity'),
            self.codes(swept))
        self.assertEqual(1, len(self.asked()))
        for server in waiting[1:]:
            self.assertIn('No host has 1 VCPU free', self.told(server)[0])

    def test_who_did_not_ask_is_left_alone(self):
        self.fill()
        servers = [self.wait_for_room(metadata) for metadata in (
            {}, {'cell0_rebuild_wait': 'no'})]
        self.make_room()
        self.assert_left_alone(*servers)
        self.assertEqual([[], []], list(map(self.told, servers)))

    def test_a_damaged_flavor_holds_nobody_else(self):
        self.fill()
        damaged = self.wait_for_room({}, flavorRef=self._create_flavor(
            extra_spec={'cell0_rebuild:wait': 'yes'}))
        server = self.wait_for_room()
        [blob] = [row['flavor'] for row in databases.dump()['cell0'][
            'instance_extra'] if row['instance_uuid'] == damaged['id']]
        databases.update('cell0', models.InstanceExtra, damaged['id'],
                         flavor=blob[:-1])
        self.make_room(3)
        swept = self.sweeper.sweep()
        self.assertEqual([server['id']], self.asked())
        self.assertIn('damaged', swept.problems[damaged['id']])

    def test_a_damaged_spec_holds_nobody_else(self):
        self.fill()
        damaged, decided, server = (self.wait_for_room() for _ in range(3))
        self.assertEqual(0, commands.run(
            'set', decided['id'], '--priority', '1')[0])
        for one in (damaged, decided):
            blob = databases.spec_of(one['id']).blob
            databases.update('api', api_models.RequestSpec, one['id'],
                             spec=blob[:-1])
        self.make_room(3)
        swept = self.sweeper.sweep()
        self.active(server)
        self.assertEqual([server['id']], self.asked())
        self.assertEqual('blocked', self.codes(swept)[damaged['id']])
        self.assertIn('is damaged', swept.problems[decided['id']])

    def test_the_list_says_who_refuses_the_rebuild(self):
        self.fill()
        server = self.wait_for_room()
        self.make_room()
        self.keystone.answers.append(
            keystone.refusal(403, 'Quota exceeded for cores.'))
        self.sweeper.sweep()
        [found] = json.loads(commands.run('list', '--format', 'json')[1])
        self.assertEqual(
            (server['id'], 'quota', 'Quota exceeded for cores.'),
            (found['server'], found['reason'], found['text']))
        self.fill()
        [found] = json.loads(commands.run('list', '--format', 'json')[1])
        self.assertEqual('capacity', found['reason'])

    def decided_in_a_sweep(self, decide):
        """Sweep over two servers that there is room for.

        :param decide: called with the first, when Placement has been asked.
        :returns: both servers, and why each waits.
        """
        self.fill()
        servers = [self.wait_for_room() for _ in range(2)]
        self.make_room(2)
        self.useFixture(base.Interception(
            'nova.scheduler.client.report.SchedulerReportClient.get',
            after=lambda *args, **kwargs: decide(servers[0])))
        return servers, self.codes(self.sweeper.sweep())

    def test_a_hold_that_comes_in_a_sweep_is_heeded(self):
        servers, codes = self.decided_in_a_sweep(
            lambda server: commands.run('hold', server['id']))
        self.assertEqual([servers[1]['id']], self.asked())
        self.assertEqual({servers[0]['id']: 'held'}, codes)
        self.active(servers[1])

    def test_an_end_that_comes_in_a_sweep_is_heeded(self):
        servers, codes = self.decided_in_a_sweep(
            lambda server: commands.run('end', server['id']))
        self.assertEqual([servers[1]['id']], self.asked())
        self.assertEqual({}, codes)
        self.active(servers[1])

    def test_a_pause_that_comes_in_a_sweep_is_heeded(self):
        servers, codes = self.decided_in_a_sweep(
            lambda server: self.flags(pause=True, group=keystone.GROUP))
        self.assertEqual([], self.asked())
        self.assertEqual(
            dict.fromkeys([one['id'] for one in servers], 'paused'), codes)

    @ddt.data(
        '{}', '{"cell0_rebuild"', '{"cell0_rebuild": {"version": "2.0"}}')
    def test_who_cannot_be_read_any_more_in_a_sweep_is_left_alone(self, blob):
        servers, codes = self.decided_in_a_sweep(
            lambda server: databases.update(
                'api', api_models.RequestSpec, server['id'], spec=blob))
        self.assertEqual([servers[1]['id']], self.asked())
        self.assertEqual({}, codes)
        self.active(servers[1])

    def test_who_cannot_be_read_rests_and_takes_no_place_of_others(self):
        self.flags(per_minute=2, group=keystone.GROUP)
        self.fill()
        newer, server = (self.wait_for_room() for _ in range(2))
        blob = json.loads(databases.spec_of(newer['id']).blob)
        blob['cell0_rebuild']['version'] = '2.0'
        databases.update('api', api_models.RequestSpec, newer['id'],
                         spec=json.dumps(blob))
        self.make_room(2)
        commands.run('hold', server['id'])
        for _ in range(2):
            self.sweeper.sweep()
        commands.run('release', server['id'])
        codes = self.codes(self.sweeper.sweep())
        self.assertEqual([server['id']], self.asked())
        self.assertEqual('blocked', codes[newer['id']])

    def test_one_of_many_alike_is_tried_where_the_filters_refuse(self):
        self.fill()
        servers = [self.wait_for_room() for _ in range(5)]
        self.make_room(5)
        self._start_compute('host2')
        with fixtures.MonkeyPatch(
                'nova.scheduler.manager.SchedulerManager._get_sorted_hosts',
                lambda *args, **kwargs: []):
            for _ in range(5):
                swept = self.sweeper.sweep()
                for uuid in swept.answers:
                    self.buried_again({'id': uuid})
        self.assertEqual(1, len(self.asked()))
        self.assertCountEqual(
            ['backoff', *['scheduler'] * 4], self.codes(swept).values())
        [told] = self.told(servers[-1])
        self.assertIn('scheduler: There is room, but the last server', told)
        self.later = datetime.timedelta(minutes=2)
        self.sweeper.sweep()
        self.assertEqual(2, len(self.asked()))
        self.active({'id': self.asked()[-1]})
        self.sweeper.sweep()
        self.assertEqual(4, len(self.asked()))

    def landed_one_of(self, count):
        """Bury servers that there is room for; let one of them land."""
        self.fill()
        servers = [self.wait_for_room() for _ in range(count)]
        for number in range(2, 5):
            self._start_compute(f'host{number}')
        self.sweeper.sweep()
        self.assertEqual(1, len(self.asked()))
        self.active(servers[0])
        return servers

    def test_who_was_not_asked_for_after_all_rests_for_nothing(self):
        servers = self.landed_one_of(3)
        with mock.patch(base.name_of(images.finder), autospec=True,
                        side_effect=[lambda: None, ZeroDivisionError]):
            self.assertRaises(ZeroDivisionError, self.sweeper.sweep)
        self.assertEqual(1, len(self.asked()))
        self.sweeper.sweep()
        for server in servers:
            self.active(server)
