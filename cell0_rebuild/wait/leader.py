# SPDX-License-Identifier: Apache-2.0

"""Which of several services works, where a backend of tooz tells them.

Two that work do no harm: of two rebuilds one is accepted. A leader saves what
the others would ask Placement.
"""

from __future__ import annotations

import collections.abc
import contextlib
import math
import os
import socket
import threading
import time
import typing as ty
import uuid

import stevedore.exception
import tooz
from tooz import coordination

_LOCK = b'cell0-rebuild-wait'

# Seconds until a leader makes sure again that it leads. Most drivers of tooz
# notice no loss: a lock that ran out, or a connection that was ended.
_SURE = 30

# Seconds in which a backend has to answer that a service ends.
_PATIENCE = 10


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
        self._sure_until = -math.inf
        self._coordinator: ty.Any = None
        self._lock: ty.Any = None

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
        if self._coordinator is None:
            self._connect(self._url)
        if self._lock.acquired:
            try:
                if self._is_sure():
                    return True
                self._connect(self._url)
            except tooz.ToozError:
                # Without it nobody would work.
                return True
        if not self._lock.acquire(blocking=False):
            return False
        self._sure_until = self._clock() + _SURE
        return True

    def end(self) -> None:
        """Let another service take the lead."""
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            _end(coordinator, self._lock)

    def _is_sure(self) -> bool:
        """Tell whether the lead is still there, as far as the driver can."""
        if self._clock() < self._sure_until:
            return True
        try:
            owner = bool(self._lock.is_still_owner())
        except tooz.NotImplemented:
            return False
        if owner:
            self._sure_until = self._clock() + _SURE
        return owner

    def _connect(self, url: str) -> None:
        """Connect; a connection that is there ends when the new one is."""
        coordinator = coordination.get_coordinator(url, _member())
        coordinator.start(start_heart=True)
        try:
            lock = coordinator.get_lock(_LOCK)
        except Exception:
            # The next try begins anew, and its heart is another one.
            _end(coordinator, None)
            raise
        self.end()
        self._coordinator, self._lock = coordinator, lock


def _end(coordinator: ty.Any, lock: ty.Any) -> None:
    """End a coordinator, now or when its backend answers again.

    tooz waits for its heart, and this asks the backend until it answers.

    :param lock: None if it has none.
    """
    ending = threading.Thread(
        target=_stop, args=(coordinator, lock), name='end of lead',
        daemon=True)
    ending.start()
    ending.join(_PATIENCE)


def _stop(coordinator: ty.Any, lock: ty.Any) -> None:
    # Where the backend is away, the lead ends by itself. Some drivers raise
    # the errors of their libraries.
    with contextlib.suppress(Exception):
        if lock is not None and lock.acquired:
            lock.release()
    with contextlib.suppress(Exception):
        coordinator.stop()


def _member() -> bytes:
    # By this alone Memcached tells an owner from another, also from an earlier
    # one of the same process. Containers may share a name and process IDs.
    return f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4()}'.encode()
