# SPDX-License-Identifier: Apache-2.0

"""The shapes of the servers that wait, remembered for a while.

To find one takes longer than to ask Placement about it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import time
import typing as ty

from cell0_rebuild.wait import likeness
from cell0_rebuild.wait import queries
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import why

# A port, a device profile or an aggregate may have changed by then.
_LIFE = datetime.timedelta(minutes=5)

# Seconds that are spent at once; the other servers come later.
_SPENT = 5


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a server asks for; servers of one shape are tried in turn.

    :param query: for Placement.
    :param group: the UUID of its server group, which Placement does not know.
    """

    query: str
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class _Known:
    found: Shape | reasons.Reason
    until: datetime.datetime


class KnownShapes:
    """Remembers the shapes of servers."""

    def __init__(self, context: ty.Any) -> None:
        """:param context: an administrator's."""
        self._context = context
        self._known: dict[bytes, _Known] = {}
        self._likeness: dict[str, tuple[bytes, datetime.datetime]] = {}

    def of(
        self, uuids: collections.abc.Sequence[str], now: datetime.datetime
    ) -> dict[str, Shape | reasons.Reason]:
        """Return the shapes of servers, or why they have none.

        Servers whose shapes cannot be found in time are left out, and so are
        those that are no longer buried.
        """
        end = time.monotonic() + _SPENT
        found = {}
        for first in range(0, len(uuids), likeness.PAGE):
            page = uuids[first:first + likeness.PAGE]
            if time.monotonic() > end and not self._likeness.keys() & page:
                continue
            self._look_up(page, now)
            for uuid in page:
                shape = self._of(uuid, now, time.monotonic() < end)
                if shape is not None:
                    found[uuid] = shape
        return found

    def keep(self, uuids: ty.Container[str], now: datetime.datetime) -> None:
        """Forget all other servers, and what is too old."""
        self._likeness = {
            uuid: value for uuid, value in self._likeness.items()
            if uuid in uuids and value[1] > now}
        self._known = {like: known for like, known in self._known.items()
                       if known.until > now}

    def _look_up(
        self, uuids: collections.abc.Sequence[str], now: datetime.datetime
    ) -> None:
        unknown = [uuid for uuid in uuids if uuid not in self._likeness]
        if unknown:
            self._likeness.update({
                uuid: (alike, now + _LIFE) for uuid, alike in likeness.find(
                    self._context, unknown).items()})

    def _of(
        self, uuid: str, now: datetime.datetime, may_find: bool
    ) -> Shape | reasons.Reason | None:
        if uuid not in self._likeness:
            return None
        like = self._likeness[uuid][0]
        if like not in self._known:
            if not may_find:
                return None
            try:
                self._known[like] = _Known(self._find(uuid), now + _LIFE)
            except why.NotBuried:
                return None
        return self._known[like].found

    def _find(self, uuid: str) -> Shape | reasons.Reason:
        found = why.asked(self._context, uuid)
        if isinstance(found, reasons.Reason):
            return found
        return Shape(queries.canonical(found.query), _group(found.spec))


def _group(spec: ty.Any) -> str | None:
    group = spec.instance_group if 'instance_group' in spec else None
    return None if group is None else str(group.uuid)
