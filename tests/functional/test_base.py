# SPDX-License-Identifier: Apache-2.0

"""What one functional test leaves to the next, and how long it waits."""

import threading
import time

import fixtures
import futurist
from oslo_messaging._drivers import impl_fake
import testtools
from testtools import matchers

from tests.functional import base
from tests.functional.support import waiting
from tests import releases


class Slow(base.FunctionalTestCase):
    """A test on a machine so busy that its services take long to stop."""

    stopped: list[str] = []

    def start_service(self, name, *args, **kwargs):
        service = super().start_service(name, *args, **kwargs)
        shut_down = service.manager.graceful_shutdown

        def slowly(timeout):
            time.sleep(0.3)
            shut_down(timeout)
            self.stopped.append(name)
        service.manager.graceful_shutdown = slowly
        return service

    def start_a_compute(self):
        self._start_compute('host1')


@releases.needs('graceful_shutdown')
class IsolationTest(testtools.TestCase):

    def test_services_that_stop_slowly_have_stopped_before_the_next_test(self):
        from nova import thread_pool_factory
        self.addCleanup(
            setattr, thread_pool_factory.FACTORY, '_shutdown', False)
        found = Slow('start_a_compute').run()
        self.assertTrue(found.wasSuccessful(), found)
        self.assertEqual(['compute', 'conductor', 'scheduler'],
                         sorted(Slow.stopped))
        self.assertFalse(thread_pool_factory.FACTORY._shutdown)


class PatienceTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.slept = []
        self.clock = waiting.Patience(
            self.slept.append, is_at_work=lambda: False)

    def look(self, times, seconds=0.5):
        """Return the sleeps of one who looks so many times."""
        self.slept.clear()
        for _ in range(times):
            self.clock.sleep(seconds)
        return list(self.slept)

    def test_who_looks_ten_times_or_more_gives_up_no_sooner(self):
        for times in (10, 11, 20, 40, 60, 300):
            self.assertThat(
                sum(self.look(times)), matchers.GreaterThan(times * 0.5))

    def test_each_wait_begins_with_a_short_sleep(self):
        self.assertEqual([0.05], self.look(1))
        self.look(20)
        self.assertEqual([0.05], self.look(1))

    def test_who_looks_for_long_gives_up_little_later(self):
        for times in (10, 60, 300):
            self.assertThat(
                sum(self.look(times)), matchers.LessThan((times + 1) * 0.5))

    def test_nobody_looks_early_while_the_process_is_at_work(self):
        clock = waiting.Patience(is_at_work=lambda: True)
        began = time.monotonic()
        clock.sleep(0.3)
        self.assertThat(time.monotonic() - began, matchers.GreaterThan(0.29))


class PromptTest(testtools.TestCase):

    def test_idle_threads_end_when_their_pool_does(self):
        self.useFixture(waiting.PromptWorkers())
        self.useFixture(fixtures.MonkeyPatch(
            'futurist._thread.ThreadWorker.MAX_IDLE_FOR', 30))
        pool = futurist.ThreadPoolExecutor(max_workers=4)
        for _ in range(8):
            pool.submit(int).result()
        began = time.monotonic()
        pool.shutdown()
        self.assertThat(time.monotonic() - began, matchers.LessThan(20))

    def test_a_message_wakes_who_listens(self):
        self.useFixture(waiting.PromptMessages())
        listener = threading.Thread(
            target=impl_fake.time.sleep, args=(30,), daemon=True)
        listener.start()
        exchange = impl_fake.FakeExchange('nova')
        end = time.monotonic() + 20
        while listener.is_alive() and time.monotonic() < end:
            exchange.deliver_message('topic', {}, {})
            listener.join(0.01)
        self.assertFalse(listener.is_alive())


class FlavorTest(base.FunctionalTestCase):

    def test_one_that_a_test_makes_is_not_what_a_server_gets_by_itself(self):
        first = self.api.get_flavors()[0]
        for _ in range(50):
            self._create_flavor()
        self.assertEqual(first, self.api.get_flavors()[0])
