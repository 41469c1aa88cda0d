# SPDX-License-Identifier: Apache-2.0

"""What was refused and is not asked again at once.

nova-api leaves no trace of a refusal, so that only this process remembers
it; a failed rebuild is remembered by the actions of its server.
"""

from __future__ import annotations

import dataclasses
import datetime

from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import reasons

# What has not been refused again for so long may be gone.
_LIFE = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class _Rest:
    reason: reasons.Reason
    times: int
    until: datetime.datetime


class Backoff:
    """Servers and projects that rest, longer each time."""

    def __init__(self) -> None:
        self._rests: dict[str, _Rest] = {}

    def begin(
        self, who: str, reason: reasons.Reason, now: datetime.datetime,
        shortest: datetime.timedelta, longest: datetime.timedelta,
    ) -> None:
        """Let a server or a project rest.

        :param who: its ID.
        :param shortest: the first rest.
        :param longest: the longest one.
        """
        self._forget(now)
        times = self._rests[who].times + 1 if who in self._rests else 1
        self._rests[who] = _Rest(reason, times, now + pacing.rest(
            who, times, shortest, longest))

    def reason(
        self, who: str, now: datetime.datetime
    ) -> reasons.Reason | None:
        """Return why a server or a project rests; None if it does not."""
        rest = self._rests.get(who)
        return rest.reason if rest is not None and rest.until > now else None

    def times(self, who: str) -> int:
        """Return how many times in a row a server or a project rested."""
        rest = self._rests.get(who)
        return 0 if rest is None else rest.times

    def end(self, who: str) -> None:
        """Forget a server or a project: it was not refused."""
        self._rests.pop(who, None)

    def _forget(self, now: datetime.datetime) -> None:
        self._rests = {who: rest for who, rest in self._rests.items()
                       if rest.until + _LIFE > now}
