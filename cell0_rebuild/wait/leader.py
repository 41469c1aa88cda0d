# SPDX-License-Identifier: Apache-2.0

"""Which of several services works, where a backend of tooz tells them.

Two that work do no harm: of two rebuilds one is accepted. A leader saves what
the others would ask Placement.
"""

from __future__ import annotations

import collections.abc
from concurrent import futures
import contextlib
import math
import os
import socket
import threading
import time
import typing as ty
import uuid

from oslo_log import log as logging
import stevedore.exception
import tooz
from tooz import coordination

from cell0_rebuild import exceptions

LOG = logging.getLogger(__name__)

_LOCK = b'cell0-rebuild-wait'

# Seconds until a leader makes sure again that it leads. Most drivers of tooz
# notice no loss: a lock that ran out, or a connection that was ended.
_SURE = 30

# Seconds in which a backend has to answer.
_PATIENCE = 10

# Seconds until a question without an answer is asked anew: the server that was
# asked may have been replaced by another one.
_GIVE_UP = 300

_Any = ty.TypeVar('_Any')


class Leader:
    """Takes the lead when nobody has it, and keeps it."""

    def __init__(
        self,
        backend_url: str | None,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect nowhere yet.

        :param backend_url: None if every service works.
        :param clock: seconds that never go back.
        """
        self._url, self._clock = backend_url, clock
        self._leads, self._sure_until = False, -math.inf
        self._connection: _Connection | None = None
        self._question: futures.Future[_Answer] | None = None
        self._asked_at = -math.inf

    def check(self) -> None:
        """Check that tooz has a driver for the backend; ask nobody.

        :raises ValueError: if it has none; the text tells no password.
        """
        if self._url is None:
            return
        try:
            coordination.get_coordinator(self._url, _member())
        except (stevedore.exception.NoMatches, tooz.ToozError) as error:
            raise ValueError(
                f'tooz has no driver for {self._url.partition(":")[0]}'
            ) from error

    def leads(self) -> bool:
        """Tell whether this service works now.

        :raises ToozError: if the backend does not answer. A leader leads on
            then.
        """
        if self._url is None:
            return True
        if self._leads and self._clock() < self._sure_until:
            return True
        led = self._leads
        try:
            self._leads = self._answer(self._url)
        except tooz.ToozError:
            # Without it nobody would work.
            if not led:
                raise
        self._sure_until = self._clock() + _SURE
        if led != self._leads:
            LOG.info('This service leads now.' if self._leads else
                     'This service leads no longer: the lock is taken.')
        return self._leads

    def end(self) -> None:
        """Let another service take the lead."""
        self._leads = False
        self._drop()

    def _answer(self, url: str) -> bool:
        """Return what the backend answers, now or to an earlier question.

        :raises ToozError: if it fails, or does not answer in time.
        """
        if self._question is not None and (
                self._asked_at + _GIVE_UP <= self._clock()):
            self._drop()
        if self._question is None:
            self._asked_at = self._clock()
            self._question = _begin(
                _ask, url, self._connection, self._leads)
        question = self._question
        if not futures.wait([question], _PATIENCE).done:
            raise tooz.ToozError('The backend of the lead does not answer.')
        self._question = None
        try:
            self._connection, leads = question.result()
            return leads
        except Exception as error:
            if self._connection is not None and self._connection.ended:
                self._connection = None
            if isinstance(error, tooz.ToozError):
                raise
            # Some drivers raise the errors of their libraries.
            raise tooz.ToozError(exceptions.text(error)) from error

    def _drop(self) -> None:
        """Give up the connection, and the one of a question that is open."""
        question, self._question = self._question, None
        if question is not None:
            question.add_done_callback(_end_late)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()


class _Connection:
    """A connection to the backend, with the lock."""

    ended = False

    def __init__(self, url: str) -> None:
        self._lock: ty.Any = None
        self._coordinator = coordination.get_coordinator(url, _member())
        self._coordinator.start(start_heart=True)
        try:
            self._lock = self._coordinator.get_lock(_LOCK)
        except Exception:
            self.end()
            raise

    def acquire(self) -> bool:
        """Take the lock if nobody has it; tell whether it is taken."""
        return bool(self._lock.acquire(blocking=False))

    def is_still_owner(self) -> bool:
        """Tell whether the lock is still there, as far as tooz can."""
        try:
            return bool(self._lock.is_still_owner())
        except tooz.NotImplemented:
            return False

    def end(self) -> None:
        """End it, now or when the backend answers again.

        tooz waits for its heart, and this asks the backend until it answers.
        """
        self.ended = True
        futures.wait([_begin(self._end)], _PATIENCE)

    def _end(self) -> None:
        # Where the backend is away, the lead ends by itself.
        with contextlib.suppress(Exception):
            if self._lock is not None and self._lock.acquired:
                self._lock.release()
        with contextlib.suppress(Exception):
            self._coordinator.stop()


# The connection by now, and whether this service leads.
_Answer = ty.Tuple[_Connection, bool]


def _ask(url: str, connection: _Connection | None, leads: bool) -> _Answer:
    """Ask for the lock, or whether it is still there.

    After an error the next try begins anew: what is connected may be of no use
    any more.

    :param connection: that there is so far, or None.
    :param leads: whether this service has led so far.
    """
    if leads and connection is not None and connection.is_still_owner():
        return connection, True
    if leads or connection is None:
        old, connection = connection, _Connection(url)
        if old is not None:
            old.end()
    try:
        return connection, connection.acquire()
    except Exception:
        connection.end()
        raise


def _end_late(question: futures.Future[_Answer]) -> None:
    """End the connection of a question that nobody waits for any more."""
    if question.exception() is None:
        question.result()[0].end()


def _begin(
    function: ty.Callable[..., _Any], *args: ty.Any
) -> futures.Future[_Any]:
    """Call a function in a thread that does not keep the process alive."""
    result: futures.Future[_Any] = futures.Future()

    def call() -> None:
        try:
            result.set_result(function(*args))
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=call, name='lead', daemon=True).start()
    return result


def _member() -> bytes:
    # By this alone Memcached tells an owner from another, also from an earlier
    # one of the same process. Containers may share a name and process IDs.
    return f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4()}'.encode()
