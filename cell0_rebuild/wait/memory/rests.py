# SPDX-License-Identifier: Apache-2.0

"""What was refused and is not asked again at once.

nova-api leaves no trace of a refusal, so that only this process remembers
it; a failed rebuild is remembered by the actions of its server.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime

from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait import values

# Seconds. What has not been refused again for so long may be gone.
_LIFE = 24 * 3600.0

_Who = collections.abc.Hashable


@dataclasses.dataclass(frozen=True)
class _Rest:
    reason: values.Reason
    times: int
    until: float


class Rests:
    """Servers, kinds, projects and questions that rest, longer each time.

    All moments are seconds of a clock that never goes back.
    """

    def __init__(self) -> None:
        self._rests: dict[_Who, _Rest] = {}

    def begin(
        self, who: _Who, reason: values.Reason, now: float,
        shortest: datetime.timedelta, longest: datetime.timedelta,
    ) -> None:
        """Let somebody rest.

        :param shortest: the first rest.
        :param longest: the longest one.
        """
        times = self.times(who) + 1
        self._rests[who] = _Rest(reason, times, now + pacing.rest(
            str(who), times, shortest, longest).total_seconds())

    def reason(self, who: _Who, now: float) -> values.Reason | None:
        """Return why somebody rests; None if it does not."""
        rest = self._rests.get(who)
        return rest.reason if rest is not None and rest.until > now else None

    def times(self, who: _Who) -> int:
        """Return how many times in a row somebody rested."""
        rest = self._rests.get(who)
        return 0 if rest is None else rest.times

    def forget_old(self, now: float) -> None:
        """Forget what has not been refused for long."""
        self._rests = {one: rest for one, rest in self._rests.items()
                       if rest.until + _LIFE > now}

    def end(self, who: _Who) -> None:
        """Forget somebody: it was not refused."""
        self._rests.pop(who, None)
