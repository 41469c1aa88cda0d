# SPDX-License-Identifier: Apache-2.0

"""What a sweep asks Placement: once about each shape."""

from __future__ import annotations

import collections.abc
import datetime
import time
import typing as ty

from oslo_log import log as logging

from cell0_rebuild import exceptions
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import probes
from cell0_rebuild.wait import queries
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import why

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

# So many hosts with room are counted, at most: a sweep seldom sends more.
_HOSTS = 50

# What is short is asked for again after that: it takes up to ten questions.
# So is a shape for which Placement has failed, perhaps after a minute.
_LIFE = datetime.timedelta(minutes=5)

# The error itself is for operators.
_FAILED = reasons.Reason(
    reasons.Code.BLOCKED,
    'Placement cannot tell whether there is room for what the server asks '
    'for. It is asked again later.')


class PlacementChecks:
    """Asks Placement, and counts what that takes.

    :ivar count: how many questions were asked for room. What is asked for
        PCPU and then for VCPU is one.
    :ivar seconds: how long they took.
    """

    def __init__(self, context: nova_context.RequestContext) -> None:
        """:param context: an administrator's."""
        self._context = context
        self._rooms: dict[tuple[str, str | None], probes.Room] = {}
        self._short: dict[
            str, tuple[datetime.datetime, reasons.Reason]] = {}
        self._failed: dict[str, datetime.datetime] = {}
        self._failures = outages.Failures()
        self.count, self.seconds = 0, 0.0

    def begin(self) -> None:
        """Begin a sweep: what was answered before may no longer be so."""
        self._rooms.clear()
        self.count, self.seconds = 0, 0.0

    def ask(
        self, shapes: collections.abc.Iterable[shape_cache.Shape],
        now: datetime.datetime,
        stopped: collections.abc.Callable[[], bool] = lambda: False,
    ) -> dict[shape_cache.Shape, reasons.Reason | None]:
        """Ask for room for shapes; return those about which it is known.

        A shape for which Placement fails has the reason of its servers. The
        question may be too hard, so that it is not asked again soon.

        :param stopped: whether to ask no more.
        :raises NoPlacement: if it fails for all that were asked for, or for
            three in a row before it answers one.
        """
        answers: dict[shape_cache.Shape, reasons.Reason | None] = {}
        error: exceptions.NoPlacement | None = None
        self._failed = {query: until for query, until in self._failed.items()
                        if until > now}
        for shape in self._failures.ordered(shapes, str):
            if stopped():
                break
            if shape.query in self._failed:
                answers[shape] = _FAILED
                continue
            failure = self._fails(shape)
            error = failure or error
            answers[shape] = _FAILED if failure else None
            if failure:
                self._failed[shape.query] = now + _LIFE
            if self._failures.record(str(shape), failure is not None):
                break
        if error is not None and not self._rooms:
            # Nothing is wrong with the shapes.
            self._failed.clear()
            raise error
        return answers

    def _fails(
        self, shape: shape_cache.Shape
    ) -> exceptions.NoPlacement | None:
        try:
            self.room(shape)
        except exceptions.NoPlacement as error:
            LOG.warning('Placement cannot tell whether there is room for %s: '
                        '%s', shape.query, error)
            return error
        return None

    def room(self, shape: shape_cache.Shape) -> probes.Room:
        """Return whether there is room, and on how many hosts.

        :raises NoPlacement: if Placement does not answer.
        """
        asked = shape.query, shape.fallback
        if asked not in self._rooms:
            started = time.monotonic()
            self._rooms[asked] = probes.with_fallback(
                self._context, queries.limited(shape.query, _HOSTS),
                shape.fallback)
            self.count += 1
            self.seconds += time.monotonic() - started
        return self._rooms[asked]

    def shortage(
        self, shape: shape_cache.Shape, now: datetime.datetime
    ) -> reasons.Reason:
        """Return what is short where there is no room.

        That alone is known where Placement fails for what it is asked then.
        """
        problem = self.room(shape).problem
        if problem:
            return reasons.Reason(reasons.Code.CAPACITY, problem)
        until, reason = self._short.get(shape.query, (now, None))
        if reason is None or until <= now:
            try:
                reason = why.capacity(
                    list(why.shortage(self._context, shape.query)))
            except exceptions.NoPlacement:
                reason = reasons.Reason(reasons.Code.CAPACITY)
            self._short[shape.query] = now + _LIFE, reason
        return reason
