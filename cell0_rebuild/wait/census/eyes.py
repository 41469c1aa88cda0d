# SPDX-License-Identifier: Apache-2.0

"""What a sweep reads: who waits, of which kind, and how builds end."""

from __future__ import annotations

import collections.abc
import datetime
import time
import typing as ty

from cell0_rebuild.wait.census import builds
from cell0_rebuild.wait.census import down_cells
from cell0_rebuild.wait.census import eligibility
from cell0_rebuild.wait.census import groups
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait.census import shares
from cell0_rebuild.wait.demand import kinds
from cell0_rebuild.wait.demand import probes
from cell0_rebuild.wait.demand import why
from cell0_rebuild.wait import values
from cell0_rebuild.wait import wish_options

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

# So many hosts with room are counted, at most: a sweep seldom sends more.
_HOSTS = 50
# Seconds to find out what is short.
_PATIENCE = 10.0


class Eyes:
    """Reads Nova's databases, and asks Placement. Nothing is changed."""

    def __init__(
        self, context: nova_context.RequestContext, conf: cfg.ConfigOpts,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at nothing yet.

        :param context: an administrator's.
        :param clock: seconds that never go back.
        """
        self._context, self._conf = context, conf
        self._kinds = kinds.Kinds(context, clock)
        self._cells = down_cells.DownCells(clock)

    def census(self) -> values.Census:
        """Find all servers that wait."""
        return eligibility.take(self._context, wish_options.site(self._conf))

    def kinds(
        self, uuids: collections.abc.Sequence[str],
        waiting: collections.abc.Mapping[str, values.Waiting],
    ) -> dict[str, values.Kind | values.Reason]:
        """Return the kinds of servers; see :meth:`kinds.Kinds.of`.

        :param waiting: all others are forgotten.
        """
        self._kinds.keep(waiting)
        return self._kinds.of(uuids, lambda uuid: waiting[uuid].project_id)

    def groups(
        self, uuids: collections.abc.Set[str]
    ) -> dict[str, values.Members]:
        """Tell where the members of groups are; see :func:`groups.of`."""
        return groups.of(self._context, uuids, self._cells)

    def state(self, uuid: str) -> values.State:
        """Tell where a server is: still sent, if a database is away."""
        try:
            return builds.state_of(self._context, uuid, self._cells)
        except outages.DATABASES:
            return values.State.SENT

    def builds(self, begin: datetime.datetime) -> list[values.Build]:
        """Return the builds since then; see :func:`builds.since`."""
        return builds.since(self._context, begin, self._cells)

    def room(self, question: values.Question) -> values.Room:
        """Ask for room.

        :raises NoPlacement: if Placement does not answer as it should.
        """
        return probes.answer(self._context, question, _HOSTS)

    def share(self, project_id: str) -> float:
        """Return the part of its quota that a project uses.

        :raises NoPlacement: if Placement does not answer as it should.
        """
        return shares.share(self._context, project_id)

    def check_placement(self) -> None:
        """Check that Placement answers what is no problem to it.

        :raises NoPlacement: if it does not.
        """
        probes.check(self._context)

    def short(self, question: values.Question) -> values.Reason:
        """Return what is short where there is no room.

        :raises NoPlacement: if Placement does not answer as it should, or not
            in time.
        """
        return why.capacity(list(why.shortage(
            self._context, question.query, _PATIENCE)))
