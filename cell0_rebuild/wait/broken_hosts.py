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
    server is tried. All times are UTC without a time zone, and need not be
    told in their order.
    """

    def __init__(self) -> None:
        self._width = _TOO_MANY
        # Those since the last that landed.
        self._failed: list[datetime.datetime] = []
        self._landed: datetime.datetime | None = None
        self._mended: datetime.datetime | None = None

    @property
    def stopped(self) -> bool:
        """Whether builds fail: no server is sent, or one to try."""
        return len(self._failed) >= _TOO_MANY

    @property
    def failing(self) -> bool:
        """Whether the last build has failed."""
        return bool(self._failed)

    def allowed(self, now: datetime.datetime) -> int:
        """Return how many may be on their way, with those that are."""
        ended = [*self._failed, *([self._landed] if self._landed else [])]
        rested = not ended or now - max(ended) >= _PAUSE
        if self.stopped:
            return 1 if rested else 0
        if self._failed or rested:
            return _TOO_MANY - len(self._failed)
        return self._width

    def landed(self, at: datetime.datetime) -> None:
        """A server is active."""
        newer = [failed for failed in self._failed if failed > at]
        if not newer:
            self._width = min(2 * max(self.allowed(at), 1), _WIDEST)
        self._failed, self._landed = newer, max(at, self._landed or at)

    def failed(self, at: datetime.datetime) -> None:
        """A build has failed on hosts; that none was found does not count."""
        since = [moment for moment in (self._landed, self._mended) if moment]
        if not since or at >= max(since):
            self._failed.append(at)
            self._width = _TOO_MANY

    def mended(self, at: datetime.datetime | None) -> None:
        """Count no builds that failed before, because an operator says so.

        :param at: since when hosts are good; None if nobody has said it.
        """
        self._mended = at
        if at is not None:
            self._failed = [failed for failed in self._failed if failed >= at]
