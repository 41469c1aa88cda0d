# SPDX-License-Identifier: Apache-2.0

"""What ``cell0-rebuild-manage wait list`` shows, on real Placement."""

import json
from xml.etree import ElementTree

from nova.db.main import models
from nova.tests.unit import fake_requests
from oslo_utils import timeutils

from tests.functional.support import asking
from tests.functional.support import counting
from tests.functional.support import databases
from tests.functional.wait import census_base
from tests.functional.wait import commands


class ListingTestCase(asking.AskingMixin, census_base.WaitingTestCase):

    def setUp(self):
        super().setUp()
        self._start_compute('host1')
        self.reserve_vcpus('host1', 10)

    def bury_aged(self, hours, **body):
        """Bury a server that asked to wait, so many hours ago."""
        server = self.bury(**{'metadata': census_base.ASKED, **body})
        databases.update(
            'cell0', models.Instance, server['id'],
            created_at=timeutils.utcnow() - hours * census_base.HOUR)
        return server

    def listed(self, *arguments):
        """Return what is shown, as JSON."""
        before = databases.dump()
        code, text = commands.run('list', '--format', 'json', *arguments)
        self.assertEqual(0, code, text)
        self.assertEqual(
            [], databases.differences(before, databases.dump()))
        return json.loads(text)

    def assert_reason(self, code, server):
        """Check why a server waits, and return what is shown of it."""
        [found] = [one for one in self.listed()
                   if one['server'] == server['id']]
        self.assertEqual(code, found['reason'])
        return found

    def test_servers_are_shown_in_their_order_expired_ones_last(self):
        young, old, first, late = (
            self.bury_aged(hours) for hours in (0, 1, 0.5, 3))
        commands.run('set', first['id'], '--priority', '1')
        self.assertEqual(
            [(1, first['id'], 'capacity'), (2, old['id'], 'capacity'),
             (3, young['id'], 'capacity'), (None, late['id'], 'expired')],
            [(one['position'], one['server'], one['reason'])
             for one in self.listed()])

    def test_the_servers_of_a_project_keep_their_positions(self):
        self.bury_aged(1)
        server = self.bury_aged(0)
        databases.update('cell0', models.Instance, server['id'],
                         project_id='another')
        [found] = self.listed('--project', 'another')
        self.assertEqual(
            (2, server['id']), (found['position'], found['server']))

    def test_it_says_so_when_there_is_room(self):
        server = self.bury_aged(0)
        self.assert_reason('capacity', server)
        self.reserve_vcpus('host1', 0)
        self.assertIn(
            'Placement has room', self.assert_reason('order', server)['text'])

    def test_it_says_who_holds_a_server_and_why(self):
        server = self.bury_aged(0)
        self.api.post_server_action(server['id'], {'lock': {}})
        self.assert_reason('locked', server)
        commands.run('hold', server['id'], '--reason', 'its host is mended')
        self.assertEqual(
            'its host is mended', self.assert_reason('held', server)['note'])

    def test_it_says_when_a_server_is_tried_again(self):
        server = self.bury_aged(0)
        self.assertIsNone(self.assert_reason('capacity', server)['next_look'])
        self.rebuild(server)
        self.buried_again(server)
        found = self.assert_reason('backoff', server)
        self.assertEqual(1, found['attempts'])
        self.assertGreater(
            timeutils.parse_isotime(found['next_look']),
            timeutils.utcnow(with_timezone=True))

    def test_a_request_that_cannot_be_built_is_told(self):
        server = self.bury_aged(
            0, networks=[{'port': self.neutron.port_1['id']}])
        del self.neutron._ports[self.neutron.port_1['id']]
        found = self.assert_reason('blocked', server)
        self.assertEqual('', found['shape'])
        self.assertIn(self.neutron.port_1['id'], found['text'])

    def test_placement_is_asked_once_about_each_shape(self):
        flavors = [self._create_flavor(vcpu=vcpus) for vcpus in (1, 2)]
        for flavor in flavors * 3:
            self.bury_aged(0, flavorRef=flavor)
        self.recorded.taken()
        found = self.listed()
        self.assertEqual(2, len(self.recorded.taken()))
        self.assertEqual((6, 2), (
            len(found), len({one['shape'] for one in found})))

    def test_servers_that_are_alike_cost_no_more_statements(self):
        counts = self.useFixture(counting.CountingFixture())
        self.bury_aged(0)
        # What a process looks up once.
        commands.run('list')
        with counts.step('one') as one:
            commands.run('list')
        for _ in range(3):
            self.bury_aged(0)
        with counts.step('four') as four:
            commands.run('list')
        self.assertEqual(sum(one.values()), sum(four.values()))

    def test_a_table_shows_the_same(self):
        server = self.bury_aged(0)
        code, text = commands.run('list')
        self.assertEqual(0, code, text)
        self.assertRegex(
            text, rf'\| 1 +\| {server["id"]} \|.*VCPU.*\| capacity ')
        [found] = self.listed()
        self.assertRegex(
            text, rf'\| {found["waiting_since"]} \| {found["deadline"]} \| 0')

    def test_a_page_shows_the_same_and_takes_text_for_text(self):
        server = self.bury_aged(0)
        commands.run('hold', server['id'], '--reason', '<b>not now</b>')
        code, text = commands.run('list', '--format', 'html')
        self.assertEqual(0, code, text)
        page = ElementTree.fromstring(text)
        cells = [cell.text for cell in page.findall('body/table//td')]
        self.assertEqual(['1', server['id']], cells[:2])
        self.assertIn('held: <b>not now</b>', cells)
        self.assertIn('In all: 1, held: 1.', page.find('body/p').text)
        until = page.findall('body/table//td')[4]
        [found] = self.listed()
        self.assertEqual(
            found['deadline'], f'{until.text}T{until.find("br").tail}')

    def test_nobody_who_waits_is_an_empty_list(self):
        self.bury()
        self.assertEqual([], self.listed())
        code, text = commands.run('list', '--format', 'html')
        self.assertEqual(0, code, text)
        self.assertIn(
            'In all: 0.', ElementTree.fromstring(text).find('body/p').text)

    def test_placement_that_is_away_is_told(self):
        self.bury_aged(0)
        self.stub_out(
            'nova.scheduler.client.report.SchedulerReportClient.get',
            lambda *args, **kwargs: fake_requests.FakeResponse(503, 'busy'))
        code, text = commands.run('list')
        self.assertEqual(1, code)
        self.assertIn('Placement cannot be asked', text)
