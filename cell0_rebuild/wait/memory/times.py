# SPDX-License-Identifier: Apache-2.0

"""The present, and values that are good for a while."""

from __future__ import annotations

import collections.abc
import time
import typing as ty

from oslo_utils import timeutils

from cell0_rebuild.wait import values

_Key = ty.TypeVar('_Key', bound=collections.abc.Hashable)
_Value = ty.TypeVar('_Value')


def now() -> values.Now:
    """Return the present."""
    return values.Now(timeutils.utcnow(), time.monotonic())


class Allowance:
    """Seconds that may be spent: a part of the time that passes."""

    def __init__(self, most: float) -> None:
        """:param most: how many are saved up, at first and later."""
        self._most = self._left = most
        self._at: float | None = None

    def earn(self, now: float, part: float) -> None:
        """Add a part of the time since the last call.

        :param now: seconds of a clock that never goes back.
        """
        passed = 0.0 if self._at is None else now - self._at
        self._left = min(self._most, self._left + passed * part)
        self._at = now

    def spend(self, seconds: float) -> None:
        """Take seconds away, perhaps more than there are.

        It is never longer until there are some again than until all are.
        """
        self._left = max(self._left - seconds, -self._most)

    @property
    def left(self) -> float:
        """How many may be spent now."""
        return max(self._left, 0.0)

    def __bool__(self) -> bool:
        return self._left > 0


class Expiring(ty.Generic[_Key, _Value]):
    """Values that are good for so many seconds.

    The present is in seconds of a clock that never goes back.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[_Key, tuple[_Value, float]] = {}

    def put(
        self, key: _Key, value: _Value, now: float, at_least: float = 0.0
    ) -> None:
        """Remember a value from now on.

        :param at_least: so many seconds, if that is more than usual.
        """
        self._known[key] = value, now + max(self._seconds, at_least)

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, also an old one; None if unknown."""
        found = self._known.get(key)
        return None if found is None else found[0]

    def is_good(self, key: _Key, now: float) -> bool:
        """Tell whether a value is known and not too old."""
        found = self._known.get(key)
        return found is not None and found[1] > now

    def old(self, now: float) -> list[_Key]:
        """Return the keys of what is too old, the oldest first."""
        old = [key for key, (_, until) in self._known.items() if until <= now]
        return sorted(old, key=lambda key: self._known[key][1])

    def drop(self, key: _Key) -> None:
        """Forget a key."""
        self._known.pop(key, None)

    def drop_old(self, now: float) -> None:
        """Forget all that is too old."""
        for key in self.old(now):
            del self._known[key]

    def keep(self, keys: collections.abc.Container[_Key]) -> None:
        """Forget all other keys."""
        self._known = {key: known for key, known in self._known.items()
                       if key in keys}

    def items(self) -> list[tuple[_Key, _Value]]:
        """Return all that is known, also what is old."""
        return [(key, value) for key, (value, _) in self._known.items()]

    def __contains__(self, key: object) -> bool:
        return key in self._known
