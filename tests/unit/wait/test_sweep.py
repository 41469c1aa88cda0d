# SPDX-License-Identifier: Apache-2.0

"""A sweep reads, asks, acts and tells, in this order."""

import dataclasses
import datetime
import pickle

import ddt
import fixtures
from oslo_db import exception as db_exc
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait import known
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import clouds
from tests.unit.wait import samples

LARGE = samples.kind('resources=VCPU:4')
BLOCKED = values.Answer(values.Outcome.BLOCKED, 'Port 1 is in use.')
OVER_QUOTA = values.Answer(values.Outcome.OVER_QUOTA, 'No cores.')
FAILED = values.Answer(values.Outcome.FAILED, 'Unexpected.')
NO_KEYSTONE = values.Answer(values.Outcome.NO_KEYSTONE, 'Not now.')


class SweepTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cloud = clouds.Cloud()

    def sweep(self, after=0.0, **known):
        """Sweep, so many seconds later."""
        self.cloud.seconds += after
        return self.cloud.sweeper.sweep(**known)

    def requested(self):
        """Return whose rebuilds were requested."""
        return [uuid for _, uuid in self.cloud.requests]

    def codes(self, swept):
        """Return why each server waits."""
        return {uuid: reason.code.value
                for uuid, reason in swept.reasons.items()}


@ddt.ddt
class SweepTest(SweepTestCase):

    def test_the_first_is_sent_and_the_others_are_told_so(self):
        first, *others = self.cloud.wait(3)
        swept = self.sweep()
        self.assertEqual([first], self.requested())
        self.assertEqual(dict.fromkeys(others, 'order'), self.codes(swept))
        self.assertEqual(swept.reasons, self.cloud.told)
        self.assertTrue(swept.has_moved())

    def test_who_has_landed_is_told_with_how_long_it_waited(self):
        [uuid] = self.cloud.wait(1, age=1)
        self.sweep()
        swept = self.sweep(30)
        self.assertEqual([uuid], [*swept.ended])
        self.assertAlmostEqual(
            3630, swept.ended[uuid].waited.total_seconds(), delta=1)

    def test_where_there_is_no_room_what_is_short_is_asked_once(self):
        uuids = self.cloud.wait(2)
        self.cloud.rooms[clouds.SMALL.shape.question] = 0
        swept = self.sweep()
        self.assertEqual(dict.fromkeys(uuids, 'capacity'), self.codes(swept))
        self.assertEqual({'No host has 1 VCPU free.'}, {
            reason.text for reason in swept.reasons.values()})
        self.sweep(2)
        self.assertEqual(1, self.cloud.asked['short'])
        self.assertEqual([], self.requested())

    def test_what_is_short_is_not_asked_if_all_owners_read_the_code(self):
        self.cloud.wait(2)
        self.cloud.rooms[clouds.SMALL.shape.question] = 0
        self.sweep()
        self.cloud.restart()
        self.sweep(2)
        self.assertEqual(1, self.cloud.asked['short'])

    def test_what_is_short_is_known_for_five_minutes(self):
        self.cloud.rooms[clouds.SMALL.shape.question] = 0
        for after, asked in ((0, 1), (200, 1), (200, 2)):
            self.cloud.wait(1)
            self.sweep(after)
            self.assertEqual(asked, self.cloud.asked['short'])

    def test_the_room_of_a_shape_is_asked_once_a_sweep(self):
        self.cloud.wait(5)
        self.cloud.wait(5, 'b')
        self.assertEqual(1, self.sweep().probes)
        self.assertEqual(1, self.cloud.asked[clouds.SMALL.shape.question])

    def test_a_share_is_known_for_a_minute(self):
        self.cloud.wait(9)
        for after, asked in ((0, 1), (59, 1), (2, 2)):
            self.sweep(after)
            self.assertEqual(asked, self.cloud.asked['a'])

    def test_a_share_costs_nothing_while_builds_fail_on_hosts(self):
        self.cloud.wait(4)
        self.cloud.wait(4, 'b')
        self.cloud.break_all()
        self.cloud.run(120)
        self.cloud.wait(1, 'c')
        self.sweep()
        self.assertEqual(0, self.cloud.asked['c'])
        self.cloud.land_others()
        self.sweep()
        self.assertEqual(1, self.cloud.asked['c'])

    def test_a_kind_that_rests_costs_no_share(self):
        self.cloud.wait(2)
        self.cloud.refused = {clouds.SMALL}
        self.cloud.run(10)
        [uuid] = self.cloud.wait(1, 'b')
        self.assertEqual('scheduler', self.codes(self.sweep())[uuid])
        self.assertEqual(0, self.cloud.asked['b'])

    def test_a_shape_that_rests_costs_no_share(self):
        kinds = [samples.kind('resources=VCPU:1', likeness=str(number))
                 for number in range(41)]
        for number, kind in enumerate(kinds):
            self.cloud.wait(1, f'refused-{number}', kind)
        self.cloud.refused = {*kinds}
        # So many calls are free.
        self.cloud.run(300, lambda: self.cloud.calls == 30)
        [uuid] = self.cloud.wait(1, 'b')
        self.assertEqual('scheduler', self.codes(self.sweep())[uuid])
        self.assertEqual(0, self.cloud.asked['b'])

    def test_who_uses_less_of_his_quota_is_first(self):
        self.cloud.wait(2, 'a', age=1)
        [other, _] = self.cloud.wait(2, 'b')
        self.cloud.shares['a'] = 0.5
        self.sweep()
        self.assertEqual([other], self.requested())

    def test_the_oldest_is_first_where_the_options_say_so(self):
        self.cloud.section.order = 'fifo'
        [first, _] = self.cloud.wait(2, 'a', age=1)
        self.cloud.wait(2, 'b')
        self.cloud.shares['a'] = 0.5
        self.sweep()
        self.assertEqual([first], self.requested())
        self.assertEqual(0, self.cloud.asked['a'])

    def test_who_wishes_is_shown_as_build_where_the_options_say_so(self):
        self.cloud.wait(1)
        self.sweep()
        self.assertEqual(set(), self.cloud.shown)
        self.cloud.section.show = 'build'
        self.cloud.wait(1, age=30)
        [other] = self.cloud.wait(1)
        self.sweep(1)
        self.assertEqual({other}, self.cloud.shown)

    def test_who_is_refused_rests_and_another_takes_its_place(self):
        first, other = self.cloud.wait(2)
        self.cloud.answer = lambda server: (
            BLOCKED if server.uuid == first else None)
        swept = self.sweep()
        self.assertEqual([first, other], self.requested())
        self.assertEqual(
            {first: values.Reason(values.Code.BLOCKED, BLOCKED.text)},
            swept.reasons)
        self.sweep(30)
        self.assertEqual(2, len(self.requested()))
        self.sweep(60)
        self.assertEqual([first], self.requested()[2:])

    @ddt.data(values.Outcome.GONE, values.Outcome.BUSY)
    def test_who_was_changed_meanwhile_rests_as_one_of_the_next(self, outcome):
        [uuid] = self.cloud.wait(1)
        self.cloud.answer = lambda server: values.Answer(outcome)
        for _ in range(2):
            self.assertEqual({uuid: 'order'}, self.codes(self.sweep()))
        self.assertEqual([uuid], self.requested())
        self.sweep(120)
        self.assertEqual([uuid] * 2, self.requested())

    def test_who_is_over_quota_stands_before_smaller_ones_for_a_minute(self):
        [large] = self.cloud.wait(1, kind=LARGE, age=1)
        [small] = self.cloud.wait(1)
        self.cloud.answer = lambda server: OVER_QUOTA
        self.assertEqual(
            {large: 'quota', small: 'quota'}, self.codes(self.sweep()))
        self.assertEqual([large], self.requested())
        self.sweep(73)
        self.assertEqual([large, small], self.requested()[:2])

    def test_a_quota_that_is_raised_is_seen_soon(self):
        self.cloud.wait(1)
        self.cloud.answer = lambda server: OVER_QUOTA
        for tried in range(1, 7):
            self.sweep(361)
            self.assertEqual(tried, len(self.requested()))

    def test_a_project_without_the_role_is_told_and_asked_for_once(self):
        self.cloud.wait(2)
        self.cloud.answer = lambda server: values.Answer(
            values.Outcome.NO_ROLE)
        for _ in range(2):
            self.assertEqual({'a'}, self.sweep(1).without_role)
        self.assertEqual(1, len(self.requested()))

    def test_who_is_not_asked_for_costs_no_place_and_is_not_an_answer(self):
        first, other = self.cloud.wait(2)
        self.cloud.section.per_minute = 1
        self.cloud.answer = lambda server: values.Answer(
            values.Outcome.NOT_ASKED, reason=texts.HELD
        ) if server.uuid == first else None
        swept = self.sweep()
        self.assertEqual([other], [*swept.answers])
        self.assertEqual({first: texts.HELD}, swept.reasons)

    def test_no_minute_has_more_requests_than_the_options_say(self):
        self.cloud.wait(50)
        self.cloud.section.per_minute = 3
        self.cloud.answer = lambda server: BLOCKED
        self.cloud.run(59)
        self.assertEqual(3, len(self.requested()))
        self.cloud.run(60)
        self.assertEqual(6, len(self.requested()))

    def test_a_sweep_makes_requests_for_five_seconds(self):
        self.cloud.wait(50)
        self.cloud.section.per_minute = 99

        def answer(server):
            self.cloud.seconds += 1
            return BLOCKED
        self.cloud.answer = answer
        self.sweep()
        self.assertEqual(5, len(self.requested()))

    def sent_without_an_answer(self):
        """Return how often a sweep makes requests that get no answer yet."""
        for number in range(40):
            self.cloud.wait(1, f'slow-{number}')
        sent = []
        self.cloud.request = lambda servers, stopped: (
            sent.append(servers) or [
                values.Answer(values.Outcome.NOT_YET) for _ in servers])
        self.sweep()
        return len(sent)

    def test_a_sweep_makes_requests_without_an_answer_three_times(self):
        self.assertEqual(3, self.sent_without_an_answer())

    def test_it_makes_such_requests_once_where_a_build_has_failed(self):
        self.cloud.ended.append(values.Build(
            'failed', 'a', values.State.FAILED_ON_HOST, samples.NOON,
            frozenset(['host-0'])))
        self.assertEqual(1, self.sent_without_an_answer())

    def test_a_sweep_that_is_stopped_asks_for_nothing_more(self):
        self.cloud.wait(2)
        self.sweep(stopped=lambda: bool(self.cloud.asked))
        self.assertEqual([], self.requested())
        self.assertEqual(0, self.sweep(stopped=lambda: True).probes)

    def test_a_server_expires_once_also_after_a_restart(self):
        self.cloud.wait(1, age=30)
        self.assertEqual(
            [1, 0, 0], [self.sweep(1).expired for _ in range(3)])
        self.cloud.restart()
        swept = self.sweep()
        self.assertEqual((0, 0.0), (swept.expired, swept.oldest_seconds))
        self.assertEqual([], self.requested())

    def test_who_is_on_its_way_for_an_hour_is_no_longer_looked_at(self):
        self.cloud = clouds.Cloud(build=9999)
        first, other = self.cloud.wait(2)
        self.sweep()
        self.sweep(3601)
        self.assertIn('no longer looked at', self.log.output)
        self.assertEqual([first, other], self.requested())

    def test_who_landed_is_told_although_a_look_at_another_fails(self):
        uuids = [*self.cloud.wait(1, age=1), *self.cloud.wait(1, kind=LARGE)]
        self.sweep()
        self.assertEqual(uuids, self.requested())
        state, swept = self.cloud.state, known.SweepResult()

        def fail(uuid):
            if uuid == uuids[1]:
                raise db_exc.DBError
            return state(uuid)
        self.cloud.state = fail
        self.assertRaises(db_exc.DBError, self.sweep, 30, result=swept)
        self.assertEqual(uuids[:1], [*swept.ended])

    def test_what_requests_take_is_told_apart(self):
        def answer(server):
            self.cloud.seconds += 3
        self.cloud.wait(1)
        self.cloud.answer = answer
        self.cloud.takes['VCPU'] = 1
        self.assertAlmostEqual(3, self.sweep().request_seconds)
        self.assertEqual(0, self.sweep(1).request_seconds)

    def test_a_clock_that_goes_back_makes_no_rest_longer(self):
        self.cloud.wait(1)
        self.cloud.answer = lambda server: BLOCKED
        self.sweep()
        now = self.cloud._now
        self.cloud.sweeper._clock = lambda: now()._replace(
            utc=now().utc - datetime.timedelta(hours=6))
        self.sweep(80)
        self.assertEqual(2, len(self.requested()))


class OutageTest(SweepTestCase):

    def fail(self, *parts):
        """Have Placement fail for what has one of these in it."""
        def fails(asked):
            if any(part in str(asked) for part in parts):
                raise exceptions.NoPlacement('Too many.')
        self.cloud.fail = fails

    def test_a_question_that_placement_fails_for_rests_alone(self):
        [large] = self.cloud.wait(1, kind=LARGE, age=1)
        [small] = self.cloud.wait(1)
        self.fail('VCPU:4')
        for after in (0, 2, 100):
            swept = self.sweep(after)
        self.assertEqual({large: texts.PLACEMENT_FAILS}, swept.reasons)
        self.assertEqual(1, self.cloud.asked[LARGE.shape.question])
        self.assertEqual([small], self.requested())
        self.fail()
        self.sweep(400)
        self.assertEqual([small, large], self.requested())

    def test_where_placement_fails_for_all_nothing_rests(self):
        self.cloud.wait(1)
        self.fail('VCPU', 'control')
        for _ in range(2):
            self.assertRaises(exceptions.NoPlacement, self.sweep, 1)
        self.fail()
        self.sweep(1)
        self.assertEqual(1, len(self.requested()))

    def test_a_share_that_cannot_be_told_is_a_whole_quota(self):
        self.cloud.wait(1, 'tenant', age=1)
        [other] = self.cloud.wait(1, 'b')
        self.fail('tenant')
        self.sweep()
        self.assertEqual([other], self.requested())

    def test_keystone_that_is_away_ends_the_sweep_and_is_told(self):
        self.cloud.wait(9)
        self.cloud.answer = lambda server: NO_KEYSTONE
        self.cloud.is_away = True
        error = self.assertRaises(exceptions.NoApi, self.sweep)
        self.assertEqual('Not now.', str(error))
        self.assertEqual(1, len(self.requested()))

    def test_nova_api_that_is_away_is_told_by_who_was_accepted(self):
        [accepted, *_] = self.cloud.wait(1, age=1)
        self.sweep()
        self.cloud.wait(9, 'b')
        self.cloud.answer = lambda server: FAILED
        self.cloud.is_away = True
        self.assertRaises(exceptions.NoApi, self.sweep, 30)
        self.assertEqual(
            [(values.Outcome.FAILED, accepted)], self.cloud.checks)

    def test_it_is_asked_once_a_sweep_whether_they_are_away(self):
        for project in 'abcdef':
            self.cloud.wait(2, project)
        self.cloud.answer = lambda server: FAILED
        self.sweep()
        self.assertEqual(1, len(self.cloud.checks))

    def test_builds_that_fail_are_told_and_stop_all(self):
        self.cloud.wait(4)
        self.cloud.wait(4, 'b', LARGE)
        self.cloud.break_all()
        self.cloud.run(120)
        self.assertEqual(2, len(self.requested()))
        self.assertIn('Builds fail on hosts', self.log.output)
        self.cloud.broken = set()
        self.cloud.land_others()
        self.cloud.run(40)
        self.assertIn('servers are sent again', self.log.output)
        self.assertLess(2, len(self.requested()))

    def test_builds_of_a_project_that_fail_are_told(self):
        self.cloud.wait(4)
        self.cloud.failing = {'a'}
        swept = self.cloud.run(120)
        self.assertEqual(2, len(self.requested()))
        self.assertEqual({texts.PROJECT_FAILS}, {*swept.reasons.values()})
        self.assertNotIn('has succeeded', self.log.output)
        self.cloud.failing = set()
        self.cloud.run(3600)
        self.assertEqual(2, len(self.cloud.landed))
        for text in 'Builds of project a fail', 'project a has succeeded':
            self.assertEqual(1, self.log.output.count(text))


class KindsTest(SweepTestCase):

    def test_who_cannot_be_asked_about_is_told_why(self):
        [uuid] = self.cloud.wait(1, kind=texts.NEUTRON_REFUSES)
        self.assertEqual(
            {uuid: texts.NEUTRON_REFUSES}, self.sweep().reasons)

    def test_one_kind_that_filters_refuse_is_tried_once_a_minute(self):
        uuids = self.cloud.wait(5)
        self.cloud.refused = {clouds.SMALL}
        swept = self.cloud.run(40)
        self.assertEqual(1, len(self.requested()))
        self.assertEqual(
            {'backoff': 1, 'scheduler': 4},
            {code: [*self.codes(swept).values()].count(code)
             for code in self.codes(swept).values()})
        self.assertIn(self.requested()[0], uuids)

    def left_of(self, count):
        """Return how much is remembered of servers that are gone."""
        self.cloud = cloud = clouds.Cloud()
        refused = samples.kind('resources=VCPU:1', likeness='refused')
        cloud.refused = {refused}
        cloud.rooms[LARGE.shape.question] = 0
        cloud.answer = lambda server: (
            BLOCKED if 'blocked' in server.project_id else None)

        def wait(number):
            for name, kind in (
                    ('landed', clouds.SMALL), ('refused', refused),
                    ('short', LARGE), ('blocked', clouds.SMALL)):
                cloud.wait(1, f'{name}-{number}', kind,
                           age=-cloud.seconds / 3600)
        for number in range(count):
            wait(number)
        cloud.run(600)
        held = len(pickle.dumps(vars(cloud.sweeper._ledger)))
        cloud.waiting.clear()
        # What was refused is known for a day, and is then looked through.
        for number in (98, 99):
            self.sweep(25 * 3600)
            cloud.ended.clear()
            wait(number)
            cloud.run(600)
            cloud.waiting.clear()
        return held, len(pickle.dumps(vars(cloud.sweeper._ledger)))

    def test_nothing_is_remembered_of_those_who_are_gone(self):
        (few, of_few), (many, of_many) = self.left_of(20), self.left_of(40)
        self.assertGreater(many, 1.4 * few)
        self.assertLess(of_many, 1.1 * of_few)

    def test_the_number_of_shapes_is_told(self):
        self.cloud.wait(2)
        self.cloud.wait(2, kind=LARGE)
        self.cloud.wait(2, kind=dataclasses.replace(LARGE, likeness='a'))
        self.assertEqual(2, self.sweep().shapes)
