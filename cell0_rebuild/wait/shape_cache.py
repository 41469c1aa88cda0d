# SPDX-License-Identifier: Apache-2.0

"""The shapes of the servers that wait, remembered for a while.

To find one takes longer than to ask Placement about it.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import functools
import time
import typing as ty

from cell0_rebuild.wait import likeness
from cell0_rebuild.wait import queries
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import spec_key
from cell0_rebuild.wait import why

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

# A port, a device profile or an aggregate may have changed by then.
_LIFE = datetime.timedelta(minutes=5)

# Seconds that are spent at once, to look servers up and then to find their
# shapes; the other servers come later.
_SPENT = 5


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a server asks for; servers of one shape are tried in turn.

    :param query: for Placement.
    :param group: the UUID of its server group, which Placement does not know.
    :param likeness: what else only filters read; see :mod:`likeness`.
    :param fallback: what will do if there is no room for the query, or None.
    """

    query: str
    group: str | None = None
    likeness: str = ''
    fallback: str | None = None

    @functools.cached_property
    def room(self) -> Shape:
        """Which shapes have room together, whatever filters say of each."""
        return dataclasses.replace(self, likeness='')

    def taken_by(self, other: Shape) -> int:
        """Return how many servers of this shape lose their room, at most.

        Each group of a request may be on a provider of its own.

        :param other: the shape of a server that is placed.
        """
        return max((sum(-(-taken // min(amounts))
                        for taken in other._amounts.get(name, ()))
                    for name, amounts in self._amounts.items()), default=1)

    @functools.cached_property
    def _amounts(self) -> collections.abc.Mapping[str, list[int]]:
        """How much each group asks for, by the resource class."""
        return {**_amounts(self.fallback or ''), **_amounts(self.query)}


@dataclasses.dataclass(frozen=True)
class _Known:
    shape: Shape | reasons.Reason
    until: datetime.datetime


class ShapeCache:
    """Remembers the shapes of servers.

    What is too old is still used until it is found again, which comes after
    all that is unknown: so each server has its turn, however many there are.
    """

    def __init__(
        self, context: nova_context.RequestContext,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        :param context: an administrator's.
        :param clock: seconds that never go back.
        """
        self._context, self._clock = context, clock
        self._known: dict[bytes, _Known] = {}
        self._keys: dict[str, tuple[bytes, datetime.datetime]] = {}

    def of(
        self, uuids: collections.abc.Sequence[str], now: datetime.datetime
    ) -> dict[str, Shape | reasons.Reason]:
        """Return the shapes of servers, or why they have none.

        Servers whose shapes cannot be found in time are left out, and so are
        those that are no longer buried.

        :param uuids: those whose shapes are to be found first, first.
        """
        self._look_up([
            uuid for uuid in uuids if uuid not in self._keys], now,
            self._clock() + _SPENT)
        # Of very many servers, the look-up alone takes all of its time.
        end = self._clock() + _SPENT
        for key, uuid in self._first_of_each(uuids).items():
            if key not in self._known:
                self._learn(key, uuid, now, end)
        self._renew(uuids, now, end)
        return {uuid: self._known[key].shape for key, uuid in (
            (self._keys[uuid][0], uuid) for uuid in uuids
            if uuid in self._keys) if key in self._known}

    def forget_others(self, uuids: ty.Container[str]) -> None:
        """Forget all other servers, and the shapes that only they had."""
        self._keys = {uuid: key_until for uuid, key_until
                      in self._keys.items() if uuid in uuids}
        keys = {key for key, _ in self._keys.values()}
        self._known = {key: known for key, known in self._known.items()
                       if key in keys}

    def _renew(
        self, uuids: collections.abc.Sequence[str], now: datetime.datetime,
        end: float,
    ) -> None:
        """Find again what is too old, the oldest first."""
        self._look_up([
            uuid for uuid in uuids if uuid in self._keys
            and self._keys[uuid][1] <= now], now, end)
        first = self._first_of_each(uuids)
        old = {key: self._known[key].until for key in first
               if key in self._known and self._known[key].until <= now}
        for key in sorted(old, key=lambda key: old[key]):
            self._learn(key, first[key], now, end)

    def _first_of_each(
        self, uuids: collections.abc.Sequence[str]
    ) -> dict[bytes, str]:
        """Return the first server of each key."""
        first: dict[bytes, str] = {}
        for uuid in uuids:
            if uuid in self._keys:
                first.setdefault(self._keys[uuid][0], uuid)
        return first

    def _look_up(
        self, uuids: collections.abc.Sequence[str], now: datetime.datetime,
        end: float,
    ) -> None:
        for first in range(0, len(uuids), spec_key.PAGE):
            if self._clock() >= end:
                return
            self._keys.update({
                uuid: (key, now + _LIFE) for uuid, key in spec_key.find(
                    self._context,
                    uuids[first:first + spec_key.PAGE]).items()})

    def _learn(
        self, key: bytes, uuid: str, now: datetime.datetime, end: float
    ) -> None:
        if self._clock() >= end:
            return
        try:
            self._known[key] = _Known(self._find(uuid), now + _LIFE)
        except why.NotBuried:
            self._known.pop(key, None)

    def _find(self, uuid: str) -> Shape | reasons.Reason:
        asked = why.asked(self._context, uuid)
        if isinstance(asked, reasons.Reason):
            return asked
        first, fallback = asked.queries
        return Shape(
            queries.canonical(first), _group(asked.spec),
            likeness.of(asked.spec), fallback and queries.canonical(fallback))


def _amounts(query: str) -> dict[str, list[int]]:
    amounts = collections.defaultdict(list)
    for demand in queries.demands(query):
        if demand.amount:
            amounts[demand.what].append(demand.amount)
    return amounts


def _group(spec: objects.RequestSpec) -> str | None:
    group = spec.instance_group if 'instance_group' in spec else None
    return None if group is None else str(group.uuid)
