# SPDX-License-Identifier: Apache-2.0

"""The laws of the order in which waiting servers are tried."""

import dataclasses
import random

import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.decision import order
from tests.unit.wait import samples

policies = st.sampled_from(['fair', 'fifo'])
some = samples.servers().filter(bool)


def ordered(policy, servers, shares):
    """Return the servers in the order of a policy."""
    return order.ordered(servers, shares if policy == 'fair' else {})


def before(found, server):
    """Return the UUIDs of other projects that come before a server."""
    uuids = [one.uuid for one in found]
    return {one.uuid for one in found[:uuids.index(server.uuid)]
            if one.project_id != server.project_id}


def changed(servers, server, **values):
    """Return the servers with one of them changed."""
    return [dataclasses.replace(one, **values) if one is server else one
            for one in servers]


class OrderTest(testtools.TestCase):

    def assert_order(self, expected, policy, servers, shares):
        self.assertEqual(expected, [
            int(one.uuid[-4:]) for one in ordered(
                policy, servers, shares)])

    def test_the_oldest_is_first(self):
        servers = [samples.server(1, age=1), samples.server(2, age=2)]
        for policy in ('fair', 'fifo'):
            self.assert_order([2, 1], policy, servers, {})

    def test_who_uses_less_of_his_quota_comes_first(self):
        servers = [samples.server(1, 'a', age=1), samples.server(2, 'b')]
        self.assert_order([2, 1], 'fair', servers, {'a': 0.5, 'b': 0.4})
        self.assert_order([1, 2], 'fifo', servers, {'a': 0.5, 'b': 0.4})

    def test_a_week_makes_up_for_a_whole_quota(self):
        shares = {'a': 1.0}
        for age, expected in ((7 * 24 + 1, [1, 2]), (7 * 24 - 1, [2, 1])):
            self.assert_order(
                expected, 'fair', [samples.server(1, 'a', age=age),
                                   samples.server(2, 'b')], shares)

    def test_who_stands_back_is_as_if_he_had_come_later(self):
        servers = [samples.server(1, age=3, nice=2), samples.server(2, age=2)]
        for policy in ('fair', 'fifo'):
            self.assert_order([2, 1], policy, servers, {})
            self.assert_order(
                [1, 2], policy, changed(servers, servers[0], nice=0), {})

    def test_of_two_with_the_same_turn_the_older_is_first(self):
        servers = [samples.server(1, age=1), samples.server(2, age=3, nice=2)]
        self.assert_order([2, 1], 'fair', servers, {})

    def test_who_is_as_old_comes_by_his_id(self):
        servers = [samples.server(2), samples.server(1)]
        self.assert_order([1, 2], 'fair', servers, {})


class LawsTest(testtools.TestCase):

    @hypothesis.given(policies, samples.servers(), samples.shares)
    def test_no_server_is_forgotten_or_doubled(
            self, policy, servers, shares):
        found = ordered(policy, servers, shares)
        self.assertCountEqual(servers, found)

    @hypothesis.given(
        policies, samples.servers(), samples.shares, st.randoms())
    def test_a_restart_changes_nothing(
            self, policy, servers, shares, shuffler):
        found = ordered(policy, servers, shares)
        again = random.Random(shuffler.random()).sample(
            servers, len(servers))
        self.assertEqual(found, ordered(policy, again, dict(shares)))

    @hypothesis.given(policies, some, samples.shares, st.data())
    def test_the_others_stay_in_order_when_one_goes(
            self, policy, servers, shares, data):
        gone = data.draw(st.sampled_from(servers))
        found = ordered(policy, servers, shares)
        found.remove(gone)
        self.assertEqual(found, ordered(
            policy, [one for one in servers if one is not gone], shares))

    @hypothesis.given(policies, some, samples.shares, st.data())
    def test_who_waits_longer_never_falls_behind_for_it(
            self, policy, servers, shares, data):
        chosen = data.draw(st.sampled_from(servers))
        hours = data.draw(st.floats(0, 100))
        found = ordered(policy, servers, shares)
        older = changed(
            servers, chosen,
            created_at=chosen.created_at - hours * samples.HOUR)
        ahead = [one.uuid for one in found].index(chosen.uuid)
        self.assertLessEqual([one.uuid for one in ordered(
            policy, older, shares)].index(chosen.uuid), ahead)

    @hypothesis.given(policies, some, samples.shares, st.data())
    def test_standing_back_never_helps_any_server_of_the_owner(
            self, policy, servers, shares, data):
        chosen = data.draw(st.sampled_from(servers))
        nice = chosen.nice + data.draw(st.integers(1, 48))
        found = ordered(policy, servers, shares)
        nicer = ordered(
            policy, changed(servers, chosen, nice=nice), shares)
        for own in servers:
            if own.project_id == chosen.project_id:
                self.assertLessEqual(before(found, own), before(nicer, own))

    @hypothesis.given(policies, some, samples.shares, st.data())
    def test_standing_back_moves_no_other_server(
            self, policy, servers, shares, data):
        chosen = data.draw(st.sampled_from(servers))
        nicer = changed(servers, chosen, nice=chosen.nice + 1)
        rest = [[one for one in ordered(policy, some, shares)
                 if one.uuid != chosen.uuid] for some in (servers, nicer)]
        self.assertEqual(*rest)

    @hypothesis.given(policies, samples.servers(), samples.shares)
    def test_a_higher_priority_always_wins(self, policy, servers, shares):
        priorities = [
            one.priority for one in ordered(policy, servers, shares)]
        self.assertEqual(sorted(priorities, reverse=True), priorities)

    @hypothesis.given(some, samples.shares, st.data())
    def test_using_more_never_helps_a_project(self, servers, shares, data):
        chosen = data.draw(st.sampled_from(servers))
        more = {**shares, chosen.project_id: shares.get(
            chosen.project_id, 0) + data.draw(st.floats(0, 3))}
        self.assertLessEqual(
            before(order.ordered(servers, shares), chosen),
            before(order.ordered(servers, more), chosen))

    @hypothesis.given(samples.servers(nice=0, priority=0), samples.shares)
    def test_servers_of_a_project_come_in_the_order_of_their_ages(
            self, servers, shares):
        for project in samples.PROJECTS:
            found = [one.created_at for one in order.ordered(servers, shares)
                     if one.project_id == project]
            self.assertEqual(sorted(found), found)

    @hypothesis.given(samples.servers(), samples.shares)
    def test_fifo_ignores_the_shares(self, servers, shares):
        self.assertEqual(ordered('fifo', servers, {}),
                         ordered('fifo', servers, shares))
