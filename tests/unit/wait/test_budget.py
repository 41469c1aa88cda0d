# SPDX-License-Identifier: Apache-2.0

"""Placement is asked within a budget, and by turns."""

import ddt

from cell0_rebuild import exceptions
from cell0_rebuild.wait import values
from tests.unit.wait import clouds
from tests.unit.wait import isolation_base
from tests.unit.wait import samples

HOUR = isolation_base.HOUR
shape = isolation_base.shape


@ddt.ddt
class BudgetTest(isolation_base.IsolationTestCase):

    def asked_seconds(self, takes=0.03):
        """Return how long Placement was asked for room.

        :param takes: how many seconds it takes for a question.
        """
        return takes * sum(
            count for question, count in self.cloud.asked.items()
            if 'VCPU' in str(question))

    @isolation_base.spread()
    def test_a_thousand_shapes_cost_no_more_than_the_budget(self, projects):
        self.fill(1000, projects)
        self.cloud.run(HOUR / 5)
        # The first sweep asks for three seconds, one at the end for 0.3.
        self.assertLess(self.asked_seconds(), 0.05 * HOUR / 5 + 3.3)
        times = [self.cloud.asked[shape(number).shape.question]
                 for number in range(1000)]
        self.assertEqual((1, 2), (min(times), max(times)))

    @ddt.data(1, 5, 20)
    def test_more_sweeps_while_there_is_room_ask_no_more(self, budget):
        asked = {}
        for is_moving in (False, True):
            self.cloud = clouds.Cloud(probe_budget=budget)
            self.fill(200)
            # It stays, because the scheduler refuses.
            self.cloud.rooms[shape(0).shape.question] = 999
            self.cloud.refused = {shape(0)}
            self.cloud.run(HOUR / 6, is_moving=is_moving)
            asked[is_moving] = self.asked_seconds()
            # The first sweep may ask for five seconds at once, like a minute.
            self.assertLess(
                asked[is_moving], 6 * budget + min(5, 0.6 * budget) + 1)
        self.assertLessEqual(asked[True], 1.1 * asked[False])

    def come_back(self, takes, room=999):
        """Have 100 servers come back; return how many seconds that takes.

        :param takes: how many seconds Placement takes for a question.
        """
        self.cloud = clouds.Cloud(build=1.0, per_minute=100000)
        self.cloud.rooms[clouds.SMALL.shape.question] = room
        self.cloud.takes['VCPU'] = takes
        self.cloud.wait(100)
        self.cloud.run(HOUR, lambda: len(self.cloud.landed) == min(
            100, room), is_moving=True)
        return self.cloud.seconds

    def test_questions_that_take_long_slow_nobody_who_comes_back(self):
        usual = self.come_back(0.01)
        self.assertLess(self.come_back(0.2), 1.3 * usual)
        self.assertEqual(100, self.cloud.calls)
        self.assertLess(
            self.asked_seconds(0.2), 0.05 * self.cloud.seconds + 3.2)

    def test_what_is_left_of_an_answer_is_not_exceeded(self):
        self.come_back(0.2, room=60)
        self.cloud.run(60, is_moving=True)
        self.assertEqual(60, len(self.cloud.landed))
        self.assertEqual(60, self.cloud.calls)

    @isolation_base.spread()
    def test_what_asks_for_more_than_has_no_room_is_not_asked_for(
            self, projects):
        self.cloud.takes['VCPU'] = 0.03
        kinds = [samples.kind(f'resources=MEMORY_MB:{number},VCPU:1')
                 for number in range(1, 101)]
        # The least one is asked first, whenever it came.
        self.offend(100, projects, lambda number: kinds[99 - number])
        for kind in kinds:
            self.cloud.rooms[kind.shape.question] = 0
        swept = self.cloud.run(60)
        self.assertEqual(1, swept.probes)
        self.assertEqual({kinds[0].shape.question}, {
            asked for asked in self.cloud.asked if asked != 'short'})
        self.assertEqual({'capacity'}, {
            reason.code.value for reason in swept.reasons.values()})
        self.cloud.rooms[kinds[0].shape.question] = 5
        self.cloud.rooms[kinds[1].shape.question] = 0
        swept = self.cloud.sweeper.sweep()
        self.assertEqual(2, swept.probes)

    # Turns go by projects: so it takes longer beside 30 of them.
    @ddt.data((1, 15), (3, 15), (30, 30))
    @ddt.unpack
    def test_who_asks_for_much_makes_others_wait_no_longer(
            self, projects, late):
        self.fill(100, projects)
        kind = samples.kind('resources=VCPU:1,CUSTOM_OTHER:1')
        self.cloud.rooms[kind.shape.question] = 0
        others = [uuid for number in range(30) for uuid in self.cloud.wait(
            1, f'good-{number}', kind)]
        self.cloud.run(600)
        self.cloud.rooms[kind.shape.question] = 30
        self.assertLess(self.seconds_to_land(others[:1]), 22 + late)

    def test_the_first_sweep_asks_for_as_long_as_those_of_a_minute(self):
        self.fill(150)
        self.assertEqual(100, self.cloud.sweeper.sweep().probes)

    def test_each_question_has_its_turn_whoever_asks_for_it(self):
        self.fill(100, 100)
        self.cloud.run(120)
        kinds = [shape(number) for number in range(100, 200)]
        for kind in kinds:
            self.cloud.rooms[kind.shape.question] = 0
            self.cloud.wait(1, 'asks for much', kind)
        self.cloud.run(HOUR)
        self.assertLess(0, min(
            self.cloud.asked[kind.shape.question] for kind in kinds))

    def test_a_pinned_server_tells_nothing_of_hosts_that_pin_cpus(self):
        # Its fallback counts only hosts that report no PCPU.
        pinned = samples.kind('resources=PCPU:2', 'resources=VCPU:2')
        self.offend(1, 1, lambda number: pinned)
        self.cloud.rooms[pinned.shape.question] = 0
        self.cloud.wait(20, 'good', samples.kind('resources=VCPU:4'))
        self.cloud.run(120)
        self.assertEqual(20, len(self.cloud.landed))

    def test_after_placement_stalled_all_come_back_in_some_minutes(self):
        for number in range(10):
            self.cloud.wait(1, f'good-{number}', shape(number))
        stalled = self.cloud.seconds + 100

        def stall(asked):
            if 'CUSTOM' in str(asked) and self.cloud.seconds < stalled:
                self.cloud.seconds += 10
                raise exceptions.NoPlacement('time-out')
        self.cloud.fail = stall
        self.cloud.run(HOUR, lambda: len(self.cloud.landed) == 10)
        self.assertLess(self.cloud.seconds - stalled, 400)

    def test_a_question_that_fails_is_asked_once_a_sweep(self):
        self.cloud.takes['VCPU'] = 0.03
        kinds = [samples.kind(f'resources=MEMORY_MB:{number},VCPU:1')
                 for number in range(1, 6)]
        self.offend(5, 1, kinds.__getitem__)
        for kind in kinds:
            self.cloud.rooms[kind.shape.question] = 0
        self.cloud.run(60)
        least = kinds[0].shape.question

        def fail(asked):
            if asked == least:
                raise exceptions.NoPlacement('503')
        self.cloud.fail = fail
        before = self.cloud.asked[least]
        self.cloud.sweeper.sweep()
        self.assertEqual(1, self.cloud.asked[least] - before)

    def test_room_for_one_of_many_shapes_is_found_in_its_turn(self):
        self.fill(300)
        self.cloud.run(HOUR / 3)
        found = self.cloud.rooms[shape(299).shape.question] = 1
        begun = self.cloud.seconds
        self.cloud.run(HOUR, lambda: len(self.cloud.landed) == found)
        self.assertLess(self.cloud.seconds - begun, 300)

    def test_the_age_of_the_oldest_answer_is_told(self):
        self.fill(300)
        swept = self.cloud.run(HOUR / 6)
        self.assertTrue(60 < swept.oldest_answer_seconds < 300)

    def test_those_not_asked_about_in_a_sweep_still_wait_for_room(self):
        self.fill(300)
        swept = self.cloud.run(HOUR / 2)
        self.assertEqual({'capacity'}, {
            reason.code.value for reason in swept.reasons.values()})

    def test_a_simpler_kind_of_the_same_project_is_asked_about_before(self):
        self.ask_too_much(1)
        self.cloud.wait(1, 'bad-0')
        self.cloud.run(60)
        self.assertEqual(1, len(self.cloud.landed))

    @isolation_base.spread()
    def test_questions_that_take_ten_seconds_delay_others_little(
            self, projects):
        usual = clouds.Cloud()
        self.cloud, cloud = usual, self.cloud
        alone = self.seconds_to_land(self.others())
        self.cloud = cloud
        self.ask_too_much(projects)
        # Each project is found out by one question.
        self.assertLessEqual(
            self.seconds_to_land(self.others()), 1.2 * alone + 12 * projects)

    def test_what_is_short_is_asked_after_the_requests_and_not_for_long(self):
        self.fill(50)
        self.cloud.takes['short'] = 0.3
        others = self.others(1)
        log, texts, publish = [], {}, self.cloud.publish
        # A text changes only with its code.
        self.cloud.publish = lambda reasons_of, project_of: (texts.update({
            (uuid, reason.code): reason.text
            for uuid, reason in reasons_of.items()
            if (uuid, reason.code) not in texts}), publish(
                reasons_of, project_of))
        self.cloud.answer = lambda server: log.append('request')
        short = self.cloud.short
        self.cloud.short = lambda question: (
            log.append('short'), short(question))[1]
        self.cloud.sweeper.sweep()
        self.assertEqual('request', log[0])
        self.assertLessEqual(len(log), 12)
        self.assertNotIn(others[0], self.cloud.told)
        # Who is not told yet is told later, with what is short.
        self.cloud.run(HOUR / 2)
        self.assertEqual({'No host has 1 VCPU free.'}, {
            text for (_, code), text in texts.items()
            if code is values.Code.CAPACITY})
        self.assertEqual(50, len({uuid for uuid, code in texts if (
            code is values.Code.CAPACITY)}))

    def test_a_sweep_that_is_stopped_asks_not_what_is_short(self):
        self.fill(5)
        self.cloud.sweeper.sweep(
            stopped=lambda: self.cloud.asked['short'] > 1)
        self.assertEqual(2, self.cloud.asked['short'])

    def test_the_usage_of_a_thousand_projects_is_read_by_turns(self):
        for number in range(1000):
            self.cloud.wait(1, f'project-{number}')
        self.cloud.takes['project-'] = 0.02
        self.cloud.rooms[clouds.SMALL.shape.question] = 1
        self.cloud.answer = lambda server: values.Answer(
            values.Outcome.BLOCKED)
        self.cloud.section.per_minute = 1
        # No answer is older than half an hour.
        self.cloud.run(HOUR / 2)
        asked = sum(count for item, count in self.cloud.asked.items()
                    if 'project-' in str(item))
        self.assertLess(0.02 * asked, 0.01 * HOUR / 2 + 3.1)
        self.assertEqual(1000, len([
            item for item in self.cloud.asked if 'project-' in str(item)]))

    def test_one_of_each_project_is_looked_at_in_turn(self):
        self.offend(1000, 1)
        [other] = self.cloud.wait(1, 'other')
        looked = []
        self.cloud.kinds = lambda uuids, waiting: looked.extend(uuids) or {}
        self.cloud.sweeper.sweep()
        self.assertIn(other, looked[:2])
