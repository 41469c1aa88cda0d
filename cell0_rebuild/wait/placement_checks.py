# SPDX-License-Identifier: Apache-2.0

"""What a sweep asks Placement: once about each shape."""

from __future__ import annotations

import datetime
import time
import typing as ty

from cell0_rebuild.wait import probes
from cell0_rebuild.wait import queries
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import why

# So many hosts with room are counted, at most: a sweep seldom sends more.
_HOSTS = 50

# What is short is asked for again after that: it takes up to ten questions.
_LIFE = datetime.timedelta(minutes=5)


class PlacementChecks:
    """Asks Placement, and counts what that takes.

    :ivar count: how many questions were asked for room.
    :ivar seconds: how long they took.
    """

    def __init__(self, context: ty.Any) -> None:
        """:param context: an administrator's."""
        self._context = context
        self._rooms: dict[str, probes.Room] = {}
        self._short: dict[
            str, tuple[datetime.datetime, reasons.Reason]] = {}
        self.count, self.seconds = 0, 0.0

    def begin(self) -> None:
        """Begin a sweep: what was answered before may no longer be so."""
        self._rooms.clear()
        self.count, self.seconds = 0, 0.0

    def room(self, shape: shape_cache.Shape) -> probes.Room:
        """Return whether there is room, and on how many hosts.

        :raises NoPlacement: if Placement does not answer.
        """
        if shape.query not in self._rooms:
            started = time.monotonic()
            self._rooms[shape.query] = probes.room(
                self._context, queries.limited(shape.query, _HOSTS))
            self.count += 1
            self.seconds += time.monotonic() - started
        return self._rooms[shape.query]

    def shortage(
        self, shape: shape_cache.Shape, now: datetime.datetime
    ) -> reasons.Reason:
        """Return what is short where there is no room.

        :raises NoPlacement: if Placement does not answer.
        """
        problem = self.room(shape).problem
        if problem:
            return reasons.Reason(reasons.Code.CAPACITY, problem)
        until, reason = self._short.get(shape.query, (now, None))
        if reason is None or until <= now:
            reason = why.capacity(
                list(why.shortage(self._context, shape.query)))
            self._short[shape.query] = now + _LIFE, reason
        return reason
