# SPDX-License-Identifier: Apache-2.0

"""What was wasted on whom: requests and questions that led to nothing."""

from __future__ import annotations

import collections.abc

# Seconds.
_HALF = 600.0
# Less than that is nothing: one is forgotten after an hour.
_LEAST = 0.01

_Who = collections.abc.Hashable
Groups = dict[_Who, collections.abc.Set[_Who]]
_NOBODY = frozenset[_Who]()


class Waste:
    """Remembers waste, of which half is forgotten every ten minutes."""

    def __init__(self) -> None:
        self._wasted: dict[_Who, tuple[float, float]] = {}
        self._present: Groups = {}
        self._blameless = set[_Who]()

    def admit(self, groups: Groups, now: float) -> None:
        """Let newcomers begin just above the least waste of their peers.

        Else those who come again and again always pass who has failed once.
        What is too little to count is forgotten.

        :param groups: all that there are, by what they have in common. Who was
            in none of them the last time, and was not charged, is a newcomer.
        """
        self._wasted = {one: wasted for one, wasted in self._wasted.items()
                        if self._left(*wasted, now) > _LEAST}
        present: Groups = {}
        for name in {**self._present, **groups}:
            former = self._present.get(name, _NOBODY)
            peers = groups.get(name, _NOBODY)
            if peers == former:
                present[name] = peers
                continue
            charged = former & self._wasted.keys()
            newcomers = peers - former - self._wasted.keys()
            # Where somebody has no waste, that is the least.
            if newcomers and charged and not former & peers - charged:
                least = min(self.of(one, now) for one in charged)
                for one in newcomers:
                    self._wasted[one] = least + _LEAST, now
                    self._blameless.add(one)
            if left := peers | charged:
                present[name] = left
        self._present = present
        self._blameless &= self._wasted.keys()

    def is_charged(self, who: _Who, now: float) -> bool:
        """Tell whether something was wasted on somebody himself."""
        return who not in self._blameless and self.of(who, now) > 0

    def charge(self, who: _Who, now: float, amount: float = 1.0) -> None:
        """Charge somebody.

        :param now: seconds of a clock that never goes back.
        """
        self._blameless.discard(who)
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
