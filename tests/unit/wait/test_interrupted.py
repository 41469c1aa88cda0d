# SPDX-License-Identifier: Apache-2.0

"""A sweep that is stopped, or dies, or meets another one, at every step."""

import ddt
import testtools

from cell0_rebuild.wait import values
from tests.unit.wait import clouds
from tests.unit.wait import samples

# What a sweeper calls.
STEPS = ('census', 'kinds', 'groups', 'builds', 'room', 'share', 'short',
         'state', 'request', 'answered', 'load', 'publish', 'update')
HOUR = 3600


class Died(BaseException):
    """The process of a service ends."""


@ddt.ddt
class InterruptedTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud, self.stopped = None, False

    def begin(self):
        """Have servers wait that land, are refused, are short and fail."""
        cloud = self.cloud = clouds.Cloud(build=3)
        self.stopped = False
        group = samples.kind('resources=VCPU:1', group='group')
        filtered = samples.kind('resources=VCPU:1', likeness='filtered')
        large = samples.kind('resources=VCPU:9')
        self.lands = [*cloud.wait(4, 'a'), *cloud.wait(3, 'b', group)]
        self.left = [*cloud.wait(2, 'c', filtered), *cloud.wait(2, 'd', large),
                     *cloud.wait(2, 'blocked')]
        cloud.refused, cloud.rooms[large.shape.question] = {filtered}, 0
        cloud.answer = lambda server: values.Answer(
            values.Outcome.BLOCKED, 'No.'
        ) if server.project_id == 'blocked' else None

    def meddle(self, number, act, after):
        """Have something happen at a step, before or after it.

        :returns: tells whether it has.
        """
        cloud, count = self.cloud, [0]

        def wrapped(real):
            def call(*args):
                count[0] += 1
                is_it = count[0] == number + 1
                if is_it and not after:
                    act()
                answer = real(*args)
                if is_it and after:
                    act()
                return answer
            return call
        for name in STEPS:
            setattr(cloud, name, wrapped(getattr(type(cloud), name).__get__(
                cloud)))
        return lambda: count[0] > number

    def each_step(self, act, sweep, after=False):
        """Yield after some sweeps, in which something happened at a step."""
        number, happened = 0, True
        while happened:
            self.begin()
            has_happened = self.meddle(number, act, after)
            for _ in range(6):
                sweep()
                self.cloud.seconds += 2
            happened = has_happened()
            for name in STEPS:
                delattr(self.cloud, name)
            if happened:
                yield number
            number += 1
        # It was tried at each step that there is.
        self.assertGreater(number, 50)

    def check(self):
        """Check that all have landed once that can, and no others."""
        self.cloud.run(HOUR / 2, lambda: self.cloud.landed_of(
            self.lands) == len(self.lands))
        self.assertEqual({*self.lands}, {*self.cloud.landed})
        self.cloud.run(60)
        # One that filters refuse is tried again and again.
        self.assertEqual({*self.left}, {
            *self.cloud.waiting, *self.cloud.on_their_way})

    @ddt.data(False, True)
    def test_a_signal_is_obeyed_before_the_next_request(self, after):
        requests = []

        def stop():
            self.stopped = True
            requests.append(len(self.cloud.requests))

        def sweep():
            if not self.stopped:
                self.cloud.sweeper.sweep(stopped=lambda: self.stopped)
                if self.stopped:
                    # A request that was made at the same time is answered.
                    made = len(self.cloud.requests) - requests.pop()
                    self.most = max(self.most, made)
                    self.cloud.restart()
                    self.assertLessEqual(
                        self.blocked(), self.cloud.told.keys())
        self.most = 0
        for _ in self.each_step(stop, sweep, after):
            self.check()
            self.assertEqual(0, self.cloud.refused_twice)
        self.assertLessEqual(self.most, 0 if after else 8)

    def blocked(self):
        """Return who was refused by nova-api."""
        return {uuid for _, uuid in self.cloud.requests
                if uuid in self.cloud.waiting
                and self.cloud.waiting[uuid].project_id == 'blocked'}

    @ddt.data(False, True)
    def test_a_service_that_dies_loses_nothing_at_any_step(self, after):
        def die():
            raise Died

        def sweep():
            try:
                self.cloud.sweeper.sweep()
            except Died:
                self.cloud.restart()
        for _ in self.each_step(die, sweep, after):
            self.check()
            self.assertEqual(0, self.cloud.refused_twice)

    def test_two_services_rebuild_each_server_once(self):
        def meet():
            first, self.cloud.sweeper = self.cloud.sweeper, self.other
            self.cloud.sweeper.sweep()
            self.cloud.sweeper = first

        def sweep():
            self.cloud.sweeper.sweep()
        begin = self.begin

        def with_another():
            begin()
            first = self.cloud.sweeper
            self.cloud.restart()
            self.other, self.cloud.sweeper = self.cloud.sweeper, first
        self.begin = with_another
        for _ in self.each_step(meet, sweep):
            self.check()
            self.assertEqual(len(self.lands), len([
                build for build in self.cloud.ended
                if build.state is values.State.LANDED]))
