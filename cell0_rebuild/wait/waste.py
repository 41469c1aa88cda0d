# SPDX-License-Identifier: Apache-2.0

"""What was wasted on whom: requests and questions that led to nothing."""

from __future__ import annotations

import collections.abc

# Seconds.
_HALF = 600.0
# Less than that is nothing: one is forgotten after an hour.
_LEAST = 0.01

_Who = collections.abc.Hashable


class Waste:
    """Remembers waste, of which half is forgotten every ten minutes."""

    def __init__(self) -> None:
        self._wasted: dict[_Who, tuple[float, float]] = {}

    def charge(self, who: _Who, now: float, amount: float = 1.0) -> None:
        """Charge somebody.

        :param now: seconds of a clock that never goes back.
        """
        self._wasted = {one: wasted for one, wasted in self._wasted.items()
                        if self._left(*wasted, now) > _LEAST}
        left, since = self._wasted.get(who, (0.0, now))
        # What is charged may be older than what was charged.
        last = max(since, now)
        self._wasted[who] = (
            self._left(left, since, last) + self._left(amount, now, last),
            last)

    def of(self, who: _Who, now: float) -> float:
        """Return what was wasted on somebody."""
        left = self._left(*self._wasted.get(who, (0.0, now)), now)
        return left if left > _LEAST else 0.0

    def clear(self, who: _Who) -> None:
        """Forget what was wasted on somebody."""
        self._wasted.pop(who, None)

    @staticmethod
    def _left(amount: float, since: float, now: float) -> float:
        left: float = amount * 0.5 ** ((now - since) / _HALF)
        return left
