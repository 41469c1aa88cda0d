# SPDX-License-Identifier: Apache-2.0

"""How many rebuilds a conductor works on at the same time.

After an outage hundreds come at once. A service keeps five connections to a
database (``max_pool_size`` of oslo.db); a thread more opens one for each of
its transactions, and all compete for Python's interpreter lock. With as many
threads as messages, a rebuild by one of 32 clients took up to twice the CPU
of one that came alone.
"""

from __future__ import annotations

import collections.abc
import contextlib
import threading

_NUMBER = 4
# Where all slots hang, say in a cell that does not answer, the others go on
# without one after this time, seconds.
_PATIENCE = 60


class Slots:
    """The slots of one conductor."""

    def __init__(self) -> None:
        self._free = threading.Semaphore(_NUMBER)

    def new(self) -> Slot:
        """Return the slot of one rebuild, not taken yet."""
        return Slot(self._free)


class Slot:
    """A rebuild works with it, and gives it back while it waits."""

    def __init__(self, free: threading.Semaphore) -> None:
        self._free = free
        self._taken = False

    @contextlib.contextmanager
    def taken(self) -> collections.abc.Iterator[None]:
        """Hold the slot inside."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    @contextlib.contextmanager
    def given_back(self) -> collections.abc.Iterator[None]:
        """Give the slot back inside, if it is taken."""
        was_taken = self._taken
        self._give_back()
        try:
            yield
        finally:
            if was_taken:
                self._take()

    def _take(self) -> None:
        self._taken = self._free.acquire(timeout=_PATIENCE)

    def _give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._free.release()
