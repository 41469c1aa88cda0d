# SPDX-License-Identifier: Apache-2.0

"""No project, and no kind of server, stands in the way of the others."""

import ddt

from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import clouds
from tests.unit.wait import isolation_base
from tests.unit.wait import samples

HOUR = isolation_base.HOUR
OTHERS = isolation_base.OTHERS
Outcome = values.Outcome


@ddt.ddt
class RefusedRequestsTest(isolation_base.IsolationTestCase):
    """nova-api refuses the rebuilds of older servers."""

    def test_another_kind_of_the_same_project_is_requested_as_soon(self):
        other = samples.kind('resources=VCPU:1', likeness='other')
        self.offend(2000, 1)
        others = self.cloud.wait(5, 'bad-0', other)
        self.answer(Outcome.BLOCKED)
        self.cloud.run(60)
        self.assertIsNotNone(self.requested(others))

    def test_one_server_does_not_keep_its_project_last_for_ever(self):
        self.offend(1, 1)
        self.answer(values.Outcome.BLOCKED)
        beside = self.cloud.wait(4, 'bad-0', age=5)
        self.cloud.wait(300, 'good')
        # Room for one a minute: others wait all the time.
        question = clouds.SMALL.shape.question
        for _ in range(150):
            self.cloud.rooms[question] = 1
            self.cloud.run(60)
        self.assertEqual(4, self.cloud.landed_of(beside))

    def test_a_line_of_cron_remembers_by_what_it_has_published(self):
        self.cloud.section.per_minute = 1
        self.offend(200, 1)
        others = self.others()
        self.answer(Outcome.BLOCKED)
        for _ in range(2):
            self.cloud.restart()
            self.cloud.sweeper.sweep()
            self.cloud.seconds += 60
        self.assertIsNotNone(self.requested(others))


@ddt.ddt
class NoAnswerTest(isolation_base.IsolationTestCase):
    """Requests of some projects get no answer, or an error."""

    @ddt.data(*(
        (outcome, projects) for projects in (1, 3, 30) for outcome in (
            Outcome.FAILED, Outcome.AWAY, Outcome.NO_KEYSTONE,
            Outcome.LATER)))
    @ddt.unpack
    def test_others_land_as_soon(self, outcome, projects):
        usual = clouds.Cloud()
        self.cloud, cloud = usual, self.cloud
        alone = self.seconds_to_land(self.others())
        self.cloud = cloud
        self.offend(60, projects)
        others = self.others()
        self.answer(outcome)
        self.assertLessEqual(self.seconds_to_land(others), 1.2 * alone)

    @isolation_base.spread()
    def test_requests_that_take_half_a_minute_delay_no_others(self, projects):
        usual = clouds.Cloud()
        self.cloud, cloud = usual, self.cloud
        alone = self.seconds_to_land(self.others())
        self.cloud = cloud
        self.offend(60, projects)
        self.cloud.slow = {f'bad-{number}': 30 for number in range(projects)}
        # Each project is found out by one request.
        self.assertLessEqual(
            self.seconds_to_land(self.others()), 1.2 * alone + 2 * projects)
        # They come back, too.
        self.cloud.run(2 * HOUR, lambda: not self.cloud.waiting)
        self.assertEqual({}, self.cloud.waiting)

    def test_a_project_has_one_request_without_an_answer(self):
        self.offend(20, 2)
        self.cloud.slow = {'bad-0': 30, 'bad-1': 30}
        open_at_once = []
        for _ in range(20):
            self.cloud.sweeper.sweep()
            self.cloud.seconds += 2
            open_at_once.append(len(self.cloud.late))
        self.assertEqual(2, max(open_at_once))

    def test_a_server_whose_request_is_open_is_not_taken_for_buried(self):
        [uuid] = self.cloud.wait(1, 'bad')
        self.cloud.slow = {'bad': 30}
        for _ in range(10):
            swept = self.cloud.sweeper.sweep()
            self.cloud.seconds += 2
        self.assertEqual(({}, 1), (swept.reasons, len(self.cloud.late)))
        self.cloud.seconds += 30
        swept = self.cloud.sweeper.sweep()
        self.assertIs(Outcome.ACCEPTED, swept.answers[uuid].outcome)

    @ddt.data(Outcome.AWAY, Outcome.LATER)
    def test_who_got_no_answer_rests_for_a_minute_at_most(self, outcome):
        self.offend(1, 1)
        self.answer(outcome)
        self.cloud.run(HOUR)
        moments = [seconds for seconds, _ in self.cloud.requests]
        self.assertLess(moments[1] - moments[0], 6)
        self.assertLess(max(
            later - sooner for sooner, later in zip(moments, moments[1:])),
            76)

    def test_one_request_is_made_at_a_time_where_many_get_no_answer(self):
        self.offend(50, 50)
        self.answer(Outcome.AWAY)
        with_many = []
        request = self.cloud.request
        self.cloud.request = lambda servers, stopped: (
            with_many.append(len(servers)), request(servers))[1]
        self.cloud.run(60)
        self.assertEqual({1}, set(with_many))
        # Each has its turn.
        self.assertEqual(50, len({uuid for _, uuid in self.cloud.requests}))


@ddt.ddt
class BuildsTest(isolation_base.IsolationTestCase):
    """Builds fail: images are too large, or hosts are broken."""

    # Each project is found out by one build of 20 seconds. Two are made at a
    # time, but one after a failure until somebody has landed.
    @ddt.data((2, 1, 0, 11), (12, 1, 0, 11), (60, 1, 0, 11), (60, 3, 0, 11),
              (60, 30, 0, 11), (60, 30, 10, 20), (60, 30, 60, 20))
    @ddt.unpack
    def test_images_that_are_too_large_stop_no_others(
            self, count, projects, every, most):
        usual = clouds.Cloud()
        self.cloud, cloud = usual, self.cloud
        alone = self.seconds_to_land(self.others())
        self.cloud = cloud
        self.break_images(count, projects)
        others = self.others()
        if projects > 1:
            self.land_others(every)
        self.assertLessEqual(
            self.seconds_to_land(others), 1.2 * alone + most * projects)

    @ddt.data(300, 2400)
    def test_builds_that_take_long_stop_no_others(self, build):
        usual = clouds.Cloud()
        self.cloud, cloud = usual, self.cloud
        alone = self.seconds_to_land(self.others())
        self.cloud = cloud
        self.offend(60, 1)
        self.cloud.builds_in['bad-0'] = build
        self.assertLessEqual(
            self.seconds_to_land(self.others()), 1.2 * alone + 20)

    def test_who_failed_once_is_tried_again_after_an_hour(self):
        [first] = self.cloud.wait(1, 'unlucky', age=10)
        self.cloud.failing = {'unlucky'}
        self.cloud.run(60)
        self.assertIsNotNone(self.requested([first]))
        self.cloud.failing = set()
        beside = self.cloud.wait(4, 'unlucky', age=9)
        self.cloud.wait(300, 'good')
        # Room for one a minute: others wait all the time.
        for _ in range(70):
            self.cloud.rooms[clouds.SMALL.shape.question] = 1
            self.cloud.run(60)
        self.assertEqual(4, self.cloud.landed_of(beside))

    def test_the_projects_of_such_images_lose_two_in_half_an_hour(self):
        self.break_images(60, 3)
        self.land_others()
        self.cloud.run(HOUR / 2)
        self.assertEqual(6, len(self.cloud.requests))

    @isolation_base.spread()
    def test_a_broken_host_stops_all_after_a_few(self, projects):
        self.offend(60, projects)
        self.cloud.break_all()
        self.cloud.run(HOUR / 2)
        self.assertIn(len(self.cloud.requests), (2, 3))

    def test_where_all_hosts_are_broken_not_all_projects_pay(self):
        self.break_images(60, 30)
        self.cloud.run(HOUR / 2)
        self.assertEqual(3, len(self.cloud.requests))


@ddt.ddt
class FiltersTest(isolation_base.IsolationTestCase):
    """The filters of the scheduler refuse what Placement has room for."""

    def landed(self, hours, others):
        """Return how many have landed after a while."""
        self.cloud.run(hours * HOUR)
        return self.cloud.landed_of(others)

    @ddt.data((20, 1, 0.2), (60, 1, 0.2), (60, 3, 0.2), (60, 30, 1),
              (20, 0, 0.2))
    @ddt.unpack
    def test_the_others_of_the_shape_land_all_the_same(
            self, kinds, projects, hours):
        count = int(hours * 700)
        cloud, self.cloud = self.cloud, clouds.Cloud()
        usual = self.landed(hours, self.others(count))
        self.assertGreater(usual, 50)
        self.cloud = cloud
        self.refuse(kinds, projects)
        self.assertGreaterEqual(
            self.landed(hours, self.others(count)), 0.95 * usual)

    @ddt.data(30, 100)
    def test_hosts_that_are_down_cost_a_call_a_minute(self, projects):
        self.refuse(projects, projects)
        self.cloud.run(HOUR / 2)
        self.assertLess(self.cloud.calls, 30 + 38)

    @ddt.data(4, 32)
    def test_no_call_is_made_in_vain_where_room_is_for_a_few(self, at_once):
        self.cloud = clouds.Cloud(at_once=at_once, per_minute=9999)
        others = self.others(200)
        self.cloud.rooms[clouds.SMALL.shape.question] = 90
        self.cloud.run(600)
        self.assertEqual(
            (90, 90), (self.landed(0, others), self.cloud.calls))

    def test_where_some_land_two_calls_are_made_for_each_at_most(self):
        self.refuse(60, 30)
        others = self.others(200)
        landed = self.landed(0.2, others)
        self.assertLess(self.cloud.calls, 2 * landed)


@ddt.ddt
class GroupsTest(isolation_base.IsolationTestCase):

    @ddt.data(1, 3)
    def test_no_two_members_are_checked_by_their_hosts_at_once(self, projects):
        member = samples.kind('resources=VCPU:1', group='group')
        cloud = self.cloud = clouds.Cloud(check=7)
        for number in range(12):
            cloud.wait(1, f'project-{number % projects}', member)
        self.others()
        unchecked = []

        def look(servers, stopped, request=cloud.request):
            answers = request(servers)
            unchecked.append(sum(
                cloud.kind_of[uuid] == member
                and cloud.seconds < sent + 1 + 7
                for uuid, (_, sent) in cloud.on_their_way.items()))
            return answers
        cloud.request = look
        cloud.run(300)
        self.assertEqual(1, max(unchecked))
        self.assertEqual(12 + OTHERS, len(cloud.landed))

    # Of 50 hosts, those from 0 to 49 are named.
    @ddt.data(
        (2, values.Members(frozenset('01')), False),
        (3, values.Members(frozenset('01')), True),
        (2, values.Members(only=frozenset('2')), False),
        (3, values.Members(only=frozenset('2')), True),
        (2, values.Members(), True),
        # Not all hosts are known then.
        (99, values.Members(only=frozenset(['77'])), True),
        (50, values.Members(only=frozenset(['77'])), False))
    @ddt.unpack
    def test_one_goes_where_its_policy_leaves_a_host(
            self, hosts, members, goes):
        member = samples.kind('resources=VCPU:1', group='group')
        self.cloud.rooms[member.shape.question] = hosts
        self.cloud.members['group'] = members
        uuids = self.cloud.wait(1, 'a', member)
        # Of the same question, and of no group.
        others = self.cloud.wait(1, 'b')
        swept = self.cloud.sweeper.sweep()
        self.assertEqual(goes, self.requested(uuids) is not None)
        self.assertIsNotNone(self.requested(others))
        if not goes:
            self.assertEqual(
                texts.GROUP_HAS_NO_HOST, swept.reasons[uuids[0]])
            self.assertEqual(0, self.cloud.asked['short'])


@ddt.ddt
class NewcomersTest(isolation_base.IsolationTestCase):
    """Kinds and servers of a project fail for the first time, again and again.
    """

    @ddt.data(
        lambda number: ('old', samples.kind(
            'resources=VCPU:1', likeness=str(number))),
        lambda number: ('old', clouds.SMALL))
    def test_who_was_refused_once_comes_before_those(self, newcomer):
        self.cloud.section.per_minute = 1
        [old] = self.cloud.wait(1, 'old')
        self.answer(Outcome.BLOCKED)
        self.offending.add(old)
        self.cloud.sweeper.sweep()
        self.offending.remove(old)
        for number in range(20):
            project, kind = newcomer(number)
            self.offending.update(self.cloud.wait(
                2, project, kind, age=-self.cloud.seconds / HOUR))
            self.cloud.run(60)
        again = [seconds for seconds, uuid in self.cloud.requests
                 if uuid == old][1:]
        self.assertEqual(1, len(again))
        self.assertLess(again[0], 600)
