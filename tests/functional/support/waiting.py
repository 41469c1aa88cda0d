# SPDX-License-Identifier: Apache-2.0

"""Less time in which a test waits for what has happened already."""

import sys
import threading
import time
import types

import fixtures
from nova.tests.functional import integrated_helpers
from oslo_messaging._drivers import impl_fake


def is_at_work():
    """Tell whether the process does anything, after a moment."""
    before = time.process_time()
    time.sleep(0.02)
    # A machine that is busy leaves it a part of the moment.
    return time.process_time() - before > 0.004


class Patience:
    """The module time, with sleeps that end when nothing is going on.

    Who looks again and again, sleeping for a second in between, looks after a
    tenth of it at the earliest, the first time, and half as long again each
    time, until after ten times they have slept as long as they wanted to.
    Until their second is over they do not look while the process is at work,
    since a look takes time from the work that it waits for.
    """

    FIRST, GROWTH, LAST = 0.1, 1.5, 3

    def __init__(self, sleep=time.sleep, is_at_work=is_at_work):
        self._sleep = sleep
        self._is_at_work = is_at_work
        self._local = threading.local()

    def __getattr__(self, name):
        return getattr(time, name)

    def sleep(self, seconds):
        """Sleep for a part of the time, or for longer."""
        # The frame is kept, so that it is not taken for one that comes later.
        caller = sys._getframe(1)
        wait = self._local
        if getattr(wait, 'caller', None) is not caller:
            wait.caller, wait.part, wait.saved = caller, self.FIRST, 0
        end = time.monotonic() + seconds
        self._sleep(seconds * wait.part)
        wait.saved += 1 - wait.part
        wait.part = (
            min(wait.part * self.GROWTH, self.LAST) if wait.saved > 0 else 1)
        while time.monotonic() < end and self._is_at_work():
            pass


class Impatience(fixtures.Fixture):
    """Lets the helpers of Nova's functional tests look sooner."""

    def _setUp(self):
        self.useFixture(fixtures.MockPatchObject(
            integrated_helpers, 'time', Patience()))


class PromptWorkers(fixtures.Fixture):
    """Wakes the idle threads of a pool that is waited for.

    They look only now and then whether they are to end.
    """

    def _setUp(self):
        self.useFixture(fixtures.MonkeyPatch(
            'futurist._thread.ThreadWorker.join', _wake_and_join))


class PromptMessages(fixtures.Fixture):
    """Hands a message on when it comes, or a listener that is to stop.

    The driver of the fixtures looks for both every 50 ms, in each thread that
    listens.
    """

    def _setUp(self):
        arrived = threading.Condition()

        def sleep(seconds):
            with arrived:
                arrived.wait(seconds)

        def tell(original):
            def telling(*args, **kwargs):
                original(*args, **kwargs)
                with arrived:
                    arrived.notify_all()
            return telling
        driver = 'oslo_messaging._drivers.impl_fake'
        for name, original in (
                ('FakeExchange.deliver_message',
                 impl_fake.FakeExchange.deliver_message),
                ('FakeListener.stop', impl_fake.FakeListener.stop)):
            self.useFixture(
                fixtures.MonkeyPatch(f'{driver}.{name}', tell(original)))
        self.useFixture(fixtures.MonkeyPatch(
            f'{driver}.time',
            types.SimpleNamespace(time=time.time, sleep=sleep)))


class _Nothing:

    def run(self):
        """Do nothing."""


def _wake_and_join(worker, timeout=None):
    executor = worker.executor_ref()
    if executor is not None and worker.is_alive():
        # All of them are to end by now, so that none takes two.
        for _ in executor._workers:
            worker.work_queue.put(_Nothing())
    threading.Thread.join(worker, timeout)
