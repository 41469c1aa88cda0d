# SPDX-License-Identifier: Apache-2.0

"""Which of several services works, where a backend of tooz tells them.

Two that work do no harm: of two rebuilds one is accepted. A leader saves what
the others would ask Placement.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import typing as ty

import stevedore.exception
import tooz
from tooz import coordination

_LOCK = b'cell0-rebuild-wait'

# Seconds in which a backend has to answer that a service ends.
_PATIENCE = 10


class Leader:
    """Takes the lead when nobody has it, and keeps it."""

    def __init__(self, backend_url: str | None) -> None:
        """:param backend_url: None if every service works."""
        self._url = backend_url
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

        :raises ToozError: if the backend does not answer.
        """
        if self._url is None:
            return True
        if self._coordinator is None:
            self._connect(self._url)
        if self._lock.acquired:
            return True
        return bool(self._lock.acquire(blocking=False))

    def end(self) -> None:
        """Let another service take the lead."""
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            _end(coordinator, self._lock)

    def _connect(self, url: str) -> None:
        coordinator = coordination.get_coordinator(url, _member())
        coordinator.start(start_heart=True)
        try:
            self._lock = coordinator.get_lock(_LOCK)
        except Exception:
            # The next try begins anew, and its heart is another one.
            _end(coordinator, None)
            raise
        self._coordinator = coordinator


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
    return f'{socket.gethostname()}-{os.getpid()}'.encode()
