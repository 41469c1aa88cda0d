# SPDX-License-Identifier: Apache-2.0

"""What is done next: a pure function of what is known."""

import dataclasses
import datetime

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait.decision import decide
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import broken_hosts
from cell0_rebuild.wait.memory import ledger
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import samples

SMALL, LARGE, HUGE = (
    samples.kind(f'resources=VCPU:{cores}') for cores in (1, 3, 7))
KINDS = 40
MINUTE = datetime.timedelta(minutes=1)
LANDED, BURIED = values.State.LANDED, values.State.BURIED
FAILED = values.State.FAILED_ON_HOST
BUILDING = values.State.BUILDING
ACCEPTED = values.Answer(values.Outcome.ACCEPTED)
NOT_YET = values.Outcome.NOT_YET


class DecideTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.section = samples.section()
        self.now, self.number = samples.NOON, 0
        # How many seconds ago Placement has answered.
        self.answered_ago = 0.0
        self.ledger = ledger.Ledger()
        self.waiting, self.ended = {}, []

    def present(self):
        return values.Now(
            self.now, (self.now - samples.NOON).total_seconds())

    def decided(self, kind=SMALL, servers=99, hosts=1, others=()):
        """Decide about servers of a kind."""
        self.ledger.builds.others = [
            values.Build('', 'other', BUILDING, at) for at in others]
        if kind not in self.waiting:
            self.waiting[kind] = []
        waiting = self.waiting[kind] = [
            one for one in self.waiting[kind]
            if one.uuid not in self.ledger.on_their_way]
        while len(waiting) < 9:
            self.number += 1
            waiting.append(samples.server(self.number))
        return self.decision(
            {kind: waiting}, {kind: values.Room(hosts, servers)})

    def decision(self, waiting, rooms, **known_more):
        """Decide about servers of kinds."""
        queues = [queue for kind, servers in waiting.items()
                  for queue in candidates.queues(
                      candidates.grouped(
                          servers, {one.uuid: kind for one in servers}),
                      self.ledger, self.present())]
        answers = {kind.shape.question: room for kind, room in rooms.items()}
        self.ledger.rooms.update({
            question: (room, self.present().seconds - self.answered_ago)
            for question, room in answers.items()})
        return decide.Decision(
            known.Seen(queues, {}, lambda uuid: None),
            known.Answers(
                answers, builds=True, groups={
                    queue.kind.shape.group: values.Members()
                    for queue in queues}, shares_end=True, **known_more),
            self.ledger, self.section, self.present())

    def requested(self, *waiting):
        """Return the projects of what is requested next, in its order.

        :param waiting: the project and the age of each server of one kind.
        """
        servers = [samples.server(number, project, age)
                   for number, (project, age) in enumerate(waiting)]
        decision = self.decision(
            {SMALL: servers}, {SMALL: values.Room(9, 99)})
        return [request.server.project_id
                for request in decision.command.requests]

    def refusal(self, kind=SMALL, **known):
        """Return why no other server of a kind is sent; None if one is."""
        decision = self.decided(kind, **known)
        if isinstance(decision.command, decide.Send):
            return None
        return decision.reasons()[self.waiting[kind][0].uuid]

    def send(self, kind=SMALL, **known):
        """Send as many servers as may be, and return their UUIDs."""
        sent = []
        while isinstance(
                command := self.decided(kind, **known).command, decide.Send):
            for request in command.requests:
                self.accept(request)
                sent.append(request.server.uuid)
        return sent

    def accept(self, request):
        self.ledger.answered(request, ACCEPTED, self.section, self.present())

    def answer(self, outcome, project='late'):
        """Answer a request of another project."""
        self.number += 1
        self.ledger.answered(
            values.Request(samples.server(self.number, project), SMALL),
            values.Answer(outcome, 'No.'), self.section, self.present())

    def settle(self, uuids, state=LANDED):
        for uuid in uuids:
            self.ledger.seen(uuid, state, self.section, self.present())
            self.ended.append(values.Build(
                uuid, 'a', state, self.now, frozenset(['host'])))
        self.ledger.learned(self.ended, self.now)

    def widen(self):
        """Let as many servers land as it takes to send more at once."""
        for _ in range(3):
            self.settle(self.send())


@ddt.ddt
class DecideTest(DecideTestCase):

    def test_one_that_gets_no_host_keeps_others_for_two_minutes(self):
        self.assertEqual(1, len(self.send()))
        self.now += MINUTE
        self.assertEqual(texts.OTHERS_FIRST, self.refusal())
        self.now += MINUTE
        self.assertIsNone(self.refusal())

    def test_where_two_projects_hang_one_more_goes_after_a_while(self):
        servers = [samples.server(1), samples.server(2, 'b')]
        others = [values.Build(project, project, BUILDING, self.now)
                  for project in ('a', 'b')]
        self.ledger.builds.others = others
        decided = self.decision({SMALL: servers}, {SMALL: values.Room(9, 99)})
        self.assertIsNone(decided.command)
        self.now += 15 * MINUTE
        decided = self.decision({SMALL: servers}, {SMALL: values.Room(9, 99)})
        self.assertEqual(1, len(decided.command.requests))

    def test_a_project_whose_builds_fail_keeps_no_place_from_others(self):
        servers = [samples.server(1), samples.server(2, 'fails')]
        self.ledger.learned([
            *(values.Build(str(number), 'fails', FAILED, self.now,
                           frozenset([str(number)])) for number in range(2)),
            values.Build('lands', 'c', LANDED, self.now + MINUTE)], self.now)
        self.now += 2 * MINUTE
        self.ledger.builds.others = [values.Build(
            'hangs', 'a', BUILDING, self.now - 16 * MINUTE)]
        decided = self.decision({SMALL: servers}, {SMALL: values.Room(9, 99)})
        self.assertEqual(['a'], [request.server.project_id for request
                                 in decided.command.requests])

    @ddt.data((SMALL, 1), (LARGE, 3))
    @ddt.unpack
    def test_only_who_has_room_as_well_takes_places_from_a_project(
            self, kind, places):
        self.ledger.builds.hosts._width = 4
        self.ledger.builds.hosts._last_at = self.now
        self.section.at_once = 8
        self.ledger.trusted = {'a', 'b'}
        for number in range(9):
            self.waiting.setdefault(SMALL, []).append(samples.server(number))
        self.ledger._widths[SMALL.shape] = 8
        queues = {SMALL: self.waiting[SMALL],
                  kind: [*self.waiting.get(kind, []),
                         samples.server(99, 'b')]}
        rooms = {SMALL: values.Room(9, 99), LARGE: values.Room(0)}
        decided = self.decision(queues, rooms)
        self.assertEqual(places, [
            request.server.project_id
            for request in decided.command.requests].count('a'))

    def test_a_shape_begins_with_one_and_doubles(self):
        found = []
        for _ in range(4):
            sent = self.send()
            found.append(len(sent))
            self.settle(sent)
        self.assertEqual([1, 2, 4, 4], found)

    def test_those_that_may_go_at_once_are_requested_at_once(self):
        self.widen()
        self.assertEqual(4, len(self.decided().command.requests))

    def test_one_is_requested_at_a_time_if_three_projects_get_no_answer(self):
        self.widen()
        for number in range(3):
            self.answer(values.Outcome.AWAY, str(number))
        self.assertEqual(1, len(self.decided().command.requests))

    def test_the_first_of_a_shape_is_requested_before_all_others(self):
        self.settle(self.send())
        waiting = {kind: [samples.server(number, kind.likeness)
                          for number in (place, place + 1)]
                   for place, kind in ((500, LARGE), (600, HUGE))}
        decision = self.decision(
            waiting, {kind: values.Room(9, 99) for kind in waiting})
        self.assertEqual(1, len(decision.command.requests))

    @ddt.data((None, texts.OTHERS_ASKED), (values.Room(1, 1), texts.ITS_TURN),
              (values.Room(0), texts.NO_HOST_HAS_ROOM))
    @ddt.unpack
    def test_who_is_not_asked_about_reads_what_was_known(self, old, reason):
        if old is not None:
            self.ledger.rooms[SMALL.shape.question] = old, 0.0
        server = samples.server()
        decision = self.decision({SMALL: [server]}, {}, rooms_end=True)
        self.assertIs(reason, decision.reasons()[server.uuid])

    def test_what_was_never_asked_is_asked_first_and_then_the_oldest(self):
        for kind, ago in ((SMALL, 9.0), (LARGE, 20.0)):
            self.ledger.rooms[kind.shape.question] = values.Room(0), -ago
        decision = self.decision({
            kind: [samples.server(number)]
            for number, kind in enumerate((SMALL, LARGE, HUGE))}, {})
        self.assertEqual(
            [kind.shape.question for kind in (HUGE, LARGE, SMALL)],
            list(decision.command.projects))

    def test_what_had_room_is_asked_before_what_was_asked_longer_ago(self):
        for kind, room, ago in ((SMALL, 1, 9.0), (LARGE, 0, 20.0)):
            self.ledger.rooms[kind.shape.question] = values.Room(room), -ago
        decision = self.decision({
            kind: [samples.server(number)]
            for number, kind in enumerate((LARGE, SMALL))}, {})
        self.assertEqual(
            [kind.shape.question for kind in (SMALL, LARGE)],
            list(decision.command.projects))

    def test_servers_of_several_projects_go_by_their_own_turns(self):
        self.section.order = 'fifo'
        self.ledger.trusted |= {'a', 'b'}
        self.widen()
        self.assertEqual(
            ['a', 'b', 'a'], self.requested(('a', 9), ('a', 1), ('b', 5)))

    def test_of_two_that_may_be_on_their_way_each_is_of_another_project(self):
        self.widen()
        self.now += 31 * MINUTE
        self.assertEqual(
            ['a', 'b'], self.requested(('a', 9), ('a', 8), ('b', 1)))

    def test_each_of_several_projects_has_a_request_at_a_time(self):
        self.widen()
        self.assertEqual(['c', 'b'], self.requested(('c', 9), ('b', 1)))

    def test_builds_of_others_and_requests_count_together(self):
        self.widen()
        self.now += 31 * MINUTE
        self.ledger.builds.others = [
            values.Build('', 'other', BUILDING, self.now)]
        self.assertEqual(['a'], self.requested(('a', 9), ('b', 1)))

    @ddt.data(('a', 'b'), ('b', 'a'))
    @ddt.unpack
    def test_who_has_one_on_its_way_leaves_the_other_place(self, one, other):
        kinds = {SMALL: [samples.server(1, one, 9)],
                 LARGE: [samples.server(2, one, 8)],
                 HUGE: [samples.server(3, other, 1)]}
        sent = []
        for _ in range(2):
            [request] = self.decision(kinds, dict.fromkeys(
                kinds, values.Room(9, 99))).command.requests
            self.accept(request)
            sent.append(request.server.project_id)
        self.assertEqual([one, other], sent)

    def test_at_most_two_go_while_none_has_landed(self):
        self.assertEqual((1, 1, 0), (
            len(self.send()), len(self.send(LARGE)),
            len(self.send(HUGE))))

    def test_no_more_go_at_a_time_than_there_is_room_for(self):
        self.widen()
        self.assertEqual(2, len(self.send(servers=2)))
        self.assertIs(values.Code.ORDER, self.refusal(servers=2).code)

    def test_those_of_another_shape_take_what_they_ask_for(self):
        self.widen()
        self.assertEqual(2, len(self.send(servers=2)))
        self.assertIsNotNone(self.refusal(LARGE, servers=2))
        self.assertIsNone(self.refusal(LARGE, servers=3))

    def test_a_large_one_takes_the_room_of_several_small_ones(self):
        self.widen()
        self.assertEqual(1, len(self.send(HUGE)))
        self.assertIsNotNone(self.refusal(LARGE, servers=3))
        self.assertIsNone(self.refusal(LARGE, servers=4))

    def test_one_that_asks_for_nothing_of_it_takes_no_room(self):
        self.widen()
        self.send(samples.kind('resources=CUSTOM_BAREMETAL:1'))
        self.assertIsNone(self.refusal(servers=1))

    def test_what_is_asked_for_in_several_groups_counts_together(self):
        self.widen()
        self.send(samples.kind('resources=VCPU:1&resources_a=VCPU:2'))
        self.assertIsNotNone(self.refusal(servers=3))
        self.assertIsNone(self.refusal(servers=4))

    def test_each_group_loses_room_to_the_whole_of_another(self):
        self.widen()
        self.send(samples.kind('resources=VCPU:4'))
        halves = samples.kind('resources=VCPU:2&resources_a=VCPU:2')
        self.assertIsNotNone(self.refusal(halves, servers=2))
        self.assertIsNone(self.refusal(halves, servers=3))

    def test_each_group_takes_room_of_its_own(self):
        self.widen()
        self.send(samples.kind('resources=VCPU:1&resources_a=VCPU:1'))
        self.assertIsNotNone(self.refusal(LARGE, servers=2))
        self.assertIsNone(self.refusal(LARGE, servers=3))

    def test_pinned_cpus_may_be_taken_from_those_that_are_not(self):
        self.widen()
        self.send(samples.kind(
            'resources=PCPU:3', 'resources=VCPU:3'))
        self.assertIsNotNone(self.refusal(servers=3))
        self.assertIsNone(self.refusal(servers=4))

    def test_each_takes_the_room_of_one_where_demands_are_unknown(self):
        self.widen()
        self.send(servers=2)
        strange = samples.kind('limit=1')
        self.assertIsNotNone(self.refusal(strange, servers=2))
        self.assertIsNone(self.refusal(strange, servers=3))

    def test_each_of_a_group_may_need_a_host_of_its_own(self):
        self.widen()
        group = samples.kind('resources=VCPU:1', group='group')
        self.assertEqual(4, len(self.send()))
        self.assertIsNotNone(self.refusal(group, hosts=4))
        self.assertIsNone(self.refusal(group, hosts=5))

    def test_a_member_of_a_group_goes_when_the_last_is_past_all_checks(self):
        self.widen()
        small, large = (samples.kind(f'resources=VCPU:{cores}', group='group')
                        for cores in (1, 2))
        [sent] = self.send(small)
        for state in (None, BUILDING):
            if state is not None:
                self.settle([sent], state)
            self.assertIsNotNone(self.refusal(small, hosts=9))
            self.assertIsNotNone(self.refusal(large, hosts=9))
            self.assertIsNone(self.refusal())
        self.settle([sent], values.State.SPAWNING)
        self.assertEqual(1, len(self.send(large, hosts=9)))

    def test_those_of_earlier_sweeps_take_room_until_they_have_a_host(self):
        self.widen()
        sent = self.send(servers=1)
        self.now += MINUTE
        self.assertIs(values.Code.ORDER, self.refusal(servers=1).code)
        self.settle(sent, BUILDING)
        self.assertIsNone(self.refusal(servers=1))

    def test_a_request_that_is_not_answered_takes_room(self):
        self.widen()
        self.answer(NOT_YET)
        self.assertIsNotNone(self.refusal(servers=1))
        self.assertIsNone(self.refusal(servers=2))

    @ddt.data(values.Outcome.BLOCKED, values.Outcome.OVER_QUOTA,
              values.Outcome.NO_ROLE, values.Outcome.AWAY)
    def test_it_takes_none_if_its_project_was_refused(self, outcome):
        self.widen()
        self.answer(outcome)
        self.answer(NOT_YET)
        self.assertIsNone(self.refusal(servers=1))

    @ddt.data(
        [(values.Outcome.BUSY, 'late')], [(values.Outcome.GONE, 'late')],
        [(values.Outcome.BLOCKED, 'another')],
        [(values.Outcome.BLOCKED, 'late'), (values.Outcome.ACCEPTED, 'late')])
    def test_it_takes_room_if_its_project_was_not_refused_since(self, before):
        self.widen()
        for outcome, project in before:
            self.answer(outcome, project)
        self.settle([*self.ledger.on_their_way])
        self.answer(NOT_YET)
        self.assertIsNotNone(self.refusal(servers=1))

    def test_what_was_accepted_takes_room_though_another_is_refused(self):
        self.widen()
        for outcome in (values.Outcome.BLOCKED, values.Outcome.ACCEPTED,
                        values.Outcome.BLOCKED):
            self.answer(outcome)
        self.assertIsNotNone(self.refusal(servers=1))

    def test_those_of_projects_that_were_refused_take_room_of_each_other(self):
        self.widen()
        for project in ('late', 'a'):
            self.answer(values.Outcome.BLOCKED, project)
        self.answer(NOT_YET)
        self.assertIsNotNone(self.refusal(servers=1))
        self.assertIsNone(self.refusal(servers=2))

    def test_those_of_earlier_sweeps_count_for_what_goes_at_once(self):
        self.widen()
        self.send(servers=1)
        self.assertEqual(3, len(self.send()))

    @ddt.data(SMALL, samples.kind('resources=VCPU:1', group='group'))
    def test_who_found_a_host_since_placement_answered_takes_room(self, kind):
        sent = self.send(kind, servers=1)
        self.now += MINUTE
        self.settle(sent, values.State.SPAWNING)
        self.answered_ago = 1.0
        self.assertIs(values.Code.ORDER, self.refusal(kind, servers=1).code)
        self.assertIsNone(self.refusal(kind, servers=2, hosts=2))
        self.answered_ago = 0.0
        self.assertIsNone(self.refusal(kind, servers=1))

    def test_builds_take_no_place_of_those_without_a_host(self):
        found = []
        for _ in range(3):
            self.settle(self.send(LARGE))
        for _ in range(4):
            sent = self.send()
            found.append(len(sent))
            self.settle(sent, BUILDING)
        self.assertEqual([1, 2, 4, 4], found)

    def test_those_of_others_count(self):
        self.assertIsNone(self.refusal(others=[self.now]))
        self.assertIs(
            values.Code.ORDER, self.refusal(others=[self.now] * 2).code)

    def test_slow_builds_do_not_stop_all(self):
        self.send()
        self.send(LARGE)
        self.now += 16 * MINUTE
        self.assertEqual([1, 0], [
            len(self.send(shape)) for shape in (SMALL, LARGE)])
        self.settle([[*self.ledger.on_their_way][-1]])
        self.assertEqual([2, 0], [
            len(self.send(shape)) for shape in (SMALL, LARGE)])

    def test_slow_builds_of_others_do_not_stop_all(self):
        others = [self.now] * 2
        self.now += 14 * MINUTE
        self.assertIsNotNone(self.refusal(others=others))
        self.now += 2 * MINUTE
        self.assertIsNone(self.refusal(others=others))

    def test_one_that_failed_lets_slow_builds_stop_all(self):
        self.send()
        self.settle(self.send(LARGE), FAILED)
        self.now += 16 * MINUTE
        self.assertIsNotNone(self.refusal(LARGE))

    @hypothesis.given(st.lists(
        st.integers(1, 200), min_size=1, max_size=5))
    def test_a_broken_host_gets_three_in_an_hour_however_long_it_takes(
            self, building):
        self.ledger = ledger.Ledger()
        self.now, sent, ends = samples.NOON, [], {}
        for minute in range(4 * 60):
            for uuid in [uuid for uuid, end in ends.items() if end <= minute]:
                self.settle([uuid], FAILED)
                del ends[uuid]
            for uuid in self.ledger.lost(self.now):
                ends.pop(uuid)
            for uuid in [*self.send(), *self.send(LARGE)]:
                ends[uuid] = minute + building[len(sent) % len(building)]
                sent.append(minute)
            self.now += MINUTE
        for first in sent:
            self.assertLessEqual(
                sum(first <= then < first + 60 for then in sent), 3)

    def test_a_shape_that_was_refused_rests_and_no_other(self):
        self.settle(self.send(), BURIED)
        self.assertIs(values.Code.SCHEDULER, self.refusal().code)
        self.assertIsNone(self.refusal(LARGE))
        self.now += 1.2 * MINUTE
        self.assertIsNone(self.refusal())

    def tried(self, waiting):
        """Sweep: return the first that is sent."""
        command = self.decision(
            waiting, dict.fromkeys(waiting, values.Room(1, 99))).command
        if not isinstance(command, decide.Send):
            return None
        [request] = command.requests
        self.accept(request)
        return request.server

    def kinds(self, of_each, project):
        """Return servers of kinds that all ask Placement for the same.

        :param project: returns the project of a kind, by its number.
        """
        return {
            samples.kind('resources=VCPU:1', likeness=str(number)): [
                samples.server(number * of_each + one, project(number))
                for one in range(of_each)] for number in range(KINDS)}

    def test_those_whom_filters_take_do_not_wait_for_those_they_refuse(self):
        waiting = self.kinds(2, str)
        taken = [*waiting.values()][-1]
        calls, tried = 0, None
        while tried not in taken:
            tried = self.tried(waiting)
            if tried is not None and tried not in taken:
                calls += 1
                self.settle([tried.uuid], BURIED)
            self.now += MINUTE / 10
        self.assertEqual(KINDS - 1, calls)
        self.assertLess(self.now - samples.NOON, 1.2 * KINDS * MINUTE)

    def test_where_filters_refuse_all_a_shape_is_tried_once_a_minute(self):
        waiting = self.kinds(1, lambda number: 'a')
        calls = 0
        for _ in range(1000):
            tried = self.tried(waiting)
            if tried is not None:
                calls += 1
                self.settle([tried.uuid], BURIED)
            self.now += MINUTE / 10
        # Thirty are free.
        self.assertIn(calls, range(KINDS + 1, 30 + 125))

    def test_all_who_ask_placement_for_the_same_begin_with_one(self):
        kinds = [dataclasses.replace(SMALL, likeness=kind) for kind in 'ab']
        self.assertEqual([1, 0], [len(self.send(kind)) for kind in kinds])

    def test_one_that_lands_ends_what_its_shape_has_learned_of_rests(self):
        for _ in range(5):
            self.settle(self.send(), BURIED)
            self.now += 30 * MINUTE
        self.settle(self.send())
        self.settle(self.send()[:1], BURIED)
        self.now += 1.2 * MINUTE
        # It waits for the other one.
        self.assertIs(values.Code.ORDER, self.refusal().code)

    def test_builds_that_fail_stop_all_shapes(self):
        for shape in (SMALL, LARGE):
            self.settle(self.send(shape), FAILED)
        self.assertEqual({'a'}, self.ledger.builds.hosts.stopped_projects)
        self.assertIs(
            values.Code.BROKEN_HOSTS,
            self.refusal(HUGE).code)

    def test_a_host_where_builds_fail_stops_all_though_none_is_begun(self):
        for project in 'ab':
            self.ended.append(values.Build(
                project, project, FAILED, self.now, frozenset(['host'])))
        self.ended.append(values.Build(
            'c', 'c', LANDED, self.now + MINUTE, frozenset(['other'])))
        self.now += 2 * MINUTE
        self.settle([])
        self.assertIs(values.Code.BROKEN_HOSTS, self.refusal().code)
        self.now += 30 * MINUTE
        self.assertIsNone(self.refusal())

    def test_one_that_is_lost_tells_nothing(self):
        self.send()
        self.now += broken_hosts.LOST
        self.ledger.lost(self.now)
        self.assertEqual(1, len(self.send()))

    def test_no_minute_has_more_than_the_budget(self):
        self.section.per_minute = 2
        for _ in range(2):
            self.settle(self.send()[:1])
        self.assertIs(values.Code.ORDER, self.refusal(LARGE).code)
        # A signal may lower it.
        self.section.per_minute = 1
        self.assertIs(values.Code.ORDER, self.refusal(LARGE).code)
