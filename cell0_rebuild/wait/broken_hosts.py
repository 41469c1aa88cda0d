# SPDX-License-Identifier: Apache-2.0

"""Send no servers to hosts on which builds fail.

A broken host looks empty, so that all that waits is sent there. A server whose
build fails on a host has left cell0, and nobody can rebuild it any more.
"""

from __future__ import annotations

import datetime

# So many builds in a row that fail on hosts are more than bad luck.
_TOO_MANY = 2
_PAUSE = datetime.timedelta(minutes=30)
# So many on their way are as good as no bound.
_WIDEST = 1024


class BrokenHosts:
    """How many servers may be on their way, over all shapes.

    At most two, until one lands; each that lands doubles that. After a while
    in which none has landed it is two again, because a host may have broken
    meanwhile. Two builds in a row that failed stop it; half an hour later one
    server is tried. All times are UTC without a time zone.
    """

    def __init__(self) -> None:
        self._width = _TOO_MANY
        self._failures = 0
        self._last: datetime.datetime | None = None

    @property
    def stopped(self) -> bool:
        """Whether builds fail: no server is sent, or one to try."""
        return self._failures >= _TOO_MANY

    def allowed(self, now: datetime.datetime) -> int:
        """Return how many may be on their way, with those that are."""
        rested = self._last is None or now - self._last >= _PAUSE
        if self.stopped:
            return 1 if rested else 0
        if self._failures or rested:
            return _TOO_MANY - self._failures
        return self._width

    def landed(self, now: datetime.datetime) -> None:
        """A server is active."""
        self._width = min(2 * max(self.allowed(now), 1), _WIDEST)
        self._failures, self._last = 0, now

    def failed(self, now: datetime.datetime) -> None:
        """A build has failed on hosts; that none was found does not count."""
        self._failures, self._last = self._failures + 1, now
