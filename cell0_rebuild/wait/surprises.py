# SPDX-License-Identifier: Apache-2.0

"""What happens to servers that wait without the service having a hand in it.

Many servers that land although Placement said no would mean that its answers
are of no use here.
"""

from __future__ import annotations

import collections.abc
import typing as ty

from cell0_rebuild.wait import dead_cells
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import rebuild_state

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class WithoutYes:
    """Servers that landed, though Placement was not known to have room.

    Their owners asked for the rebuild.
    """

    def __init__(
        self, context: nova_context.RequestContext, dead: dead_cells.DeadCells
    ) -> None:
        """Know of nobody yet.

        :param context: an administrator's.
        :param dead: the cells that are away.
        """
        self._context, self._dead = context, dead
        self._refused: set[str] = set()

    def landed(self, waiting: collections.abc.Container[str]) -> int:
        """Return how many have landed since they were refused.

        It looks only at those that wait no longer, until each of them has
        gone somewhere.

        :param waiting: who still waits, by UUID.
        """
        count = 0
        for uuid in sorted(self._refused):
            if uuid in waiting:
                continue
            try:
                state = rebuild_state.of(self._context, uuid, self._dead)
            except outages.DATABASES:
                continue
            if state is not rebuild_state.State.ON_ITS_WAY:
                self._refused.discard(uuid)
            count += state is rebuild_state.State.LANDED
        return count

    def refused(self, uuids: collections.abc.Iterable[str]) -> None:
        """Note for which servers Placement has no room."""
        self._refused.update(uuids)

    def forget(self, uuids: collections.abc.Iterable[str]) -> None:
        """Note for which servers Placement has room."""
        self._refused.difference_update(uuids)


class Expired:
    """Servers whose time has become over."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def count(
        self, uuids: collections.abc.Set[str],
        was_told: ty.Callable[[str], bool],
    ) -> int:
        """Return how many of these were not expired the last time.

        :param uuids: all that are now.
        :param was_told: whether an owner was told of it, perhaps by an
            earlier process.
        """
        new = sum(not was_told(uuid) for uuid in uuids - self._known)
        self._known = set(uuids)
        return new
