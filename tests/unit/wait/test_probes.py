# SPDX-License-Identifier: Apache-2.0

import dataclasses
from unittest import mock

import fixtures
from nova import context as nova_context
from nova.tests.unit import fake_requests
from oslo_serialization import jsonutils
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import probes
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

PCPU, VCPU = 'resources=PCPU:2', 'resources=VCPU:2'
FULL = {'allocation_requests': [], 'provider_summaries': {}}


class ServersTest(testtools.TestCase):
    """How many servers fit into what Placement answers."""

    def servers(self, stocks, *requests):
        """Return how many fit.

        :param stocks: capacity and use by provider and resource class.
        :param requests: amounts, likewise.
        """
        return probes._servers({
            'provider_summaries': {provider: {'resources': {
                name: {'capacity': capacity, 'used': used}
                for name, (capacity, used) in classes.items()}}
                for provider, classes in stocks.items()},
            'allocation_requests': [{'allocations': {
                provider: {'resources': classes}
                for provider, classes in request.items()}}
                for request in requests]})

    def test_what_is_short_limits_them(self):
        self.assertEqual(3, self.servers(
            {'host': {'VCPU': (16, 8), 'MEMORY_MB': (2000, 400)}},
            {'host': {'VCPU': 1, 'MEMORY_MB': 500}}))

    def test_those_of_all_hosts_count(self):
        self.assertEqual(8 + 3, self.servers(
            {'one': {'VCPU': (16, 0)}, 'two': {'VCPU': (16, 9)}},
            {'one': {'VCPU': 2}}, {'two': {'VCPU': 2}}))

    def test_two_candidates_on_a_host_share_its_room(self):
        self.assertEqual(5, self.servers(
            {'host': {'VCPU': (5, 0)},
             'left': {'VF': (3, 0)}, 'right': {'VF': (8, 0)}},
            {'host': {'VCPU': 1}, 'left': {'VF': 1}},
            {'host': {'VCPU': 1}, 'right': {'VF': 1}}))

    def test_two_hosts_share_a_provider(self):
        self.assertEqual(3, self.servers(
            {'one': {'VCPU': (9, 0)}, 'two': {'VCPU': (9, 0)},
             'shared': {'DISK_GB': (30, 0)}},
            {'one': {'VCPU': 1}, 'shared': {'DISK_GB': 10}},
            {'two': {'VCPU': 1}, 'shared': {'DISK_GB': 10}}))

    def test_a_provider_that_is_overfull_has_none(self):
        self.assertEqual(0, self.servers(
            {'host': {'VCPU': (4, 6)}}, {'host': {'VCPU': 1}}))


def _offers(*hosts):
    """Return what Placement offers.

    :param hosts: the resource classes of each.
    """
    return {
        'allocation_requests': [
            {'allocations': {str(number): {'resources': {'VCPU': 2}}}}
            for number, _ in enumerate(hosts)],
        'provider_summaries': {str(number): {
            'root_provider_uuid': str(number), 'resources': {
                name: {'capacity': 4, 'used': 0} for name in classes}}
            for number, classes in enumerate(hosts)}}


class FallbackTest(testtools.TestCase):
    """Who asks for PCPU may get VCPU."""

    def found(self, *answers, fallback=VCPU, most=None):
        """Return what is found, and what Placement was asked for.

        :param answers: a status and a body each.
        """
        client = mock.Mock()
        client.get.side_effect = [
            fake_requests.FakeResponse(status, content=jsonutils.dumps(body))
            for status, body in answers]
        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.client.report.report_client_singleton',
            lambda: client))
        found = probes.answer(
            nova_context.get_admin_context(),
            values.Question(PCPU, fallback), most)
        # Their names are of no interest.
        found = dataclasses.replace(found, providers=frozenset())
        return found, [call.args[0].partition('?')[2]
                       for call in client.get.call_args_list]

    def test_it_is_not_asked_for_where_there_is_room(self):
        self.assertEqual(
            (values.Room(1, 2), [PCPU]),
            self.found((200, _offers(['VCPU', 'PCPU']))))

    def test_it_is_not_asked_for_where_nothing_else_will_do(self):
        self.assertEqual(
            (values.Room(0), [PCPU]),
            self.found((200, FULL), fallback=None))

    def test_it_will_do_where_there_is_no_room(self):
        self.assertEqual(
            (values.Room(1, 2, is_fallback=True), [PCPU, VCPU]),
            self.found((200, FULL), (200, _offers(['VCPU']))))

    def test_hosts_that_report_pcpu_do_not_count(self):
        self.assertEqual(
            values.Room(1, 2, is_fallback=True), self.found(
                (200, FULL),
                (200, _offers(['VCPU', 'PCPU'], ['VCPU'])))[0])
        self.assertEqual(
            values.Room(0),
            self.found((200, FULL), (200, _offers(['VCPU', 'PCPU'])))[0])

    def test_a_host_reports_what_any_of_its_providers_reports(self):
        offers = _offers(['VCPU'], ['PCPU'])
        offers['allocation_requests'].pop()
        offers['provider_summaries']['1']['root_provider_uuid'] = '0'
        self.assertEqual(
            values.Room(0), self.found((200, FULL), (200, offers))[0])

    def test_a_host_that_is_many_candidates_hides_others(self):
        offers = _offers(['VCPU'], ['VCPU'])
        offers['provider_summaries']['1']['root_provider_uuid'] = '0'
        for most, is_cut in ((2, True), (3, False)):
            found, _ = self.found((200, offers), most=most)
            self.assertEqual((1, is_cut), (found.hosts, found.is_cut))

    def test_why_placement_refuses_to_look_is_kept(self):
        problem = {'errors': [{'detail': 'No such trait.'}]}
        self.assertEqual(
            values.Room(0, problem=values.Reason(
                values.Code.CAPACITY, 'No such trait.')),
            self.found((400, problem), (200, FULL))[0])

    def test_a_question_that_is_too_long_is_the_problem_of_who_asks(self):
        for status in (413, 414, 431):
            self.assertEqual(
                values.Room(0, problem=texts.PLACEMENT_REFUSES),
                self.found((status, {}), (200, FULL))[0])

    def test_a_placement_that_fails_then_is_away(self):
        self.assertRaises(
            exceptions.NoPlacement, self.found, (200, FULL), (503, {}))
