# SPDX-License-Identifier: Apache-2.0

"""Counts what happens to waiting servers without a request of the service.

Their owners rebuild them, or their time ends. If many servers land for which
Placement had no room, the answers of Placement say little about this cloud.
"""

from __future__ import annotations

import collections.abc
import typing as ty

from cell0_rebuild.wait import down_cells
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import rebuild_state

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class LandedWithoutRoom:
    """Counts servers that land although Placement had no room for them.

    Their owners requested the rebuild.
    """

    def __init__(
        self, context: nova_context.RequestContext, down: down_cells.DownCells
    ) -> None:
        """Begin without servers.

        :param context: an administrator's.
        :param down: the cells whose databases do not answer.
        """
        self._context, self._down = context, down
        self._without_room: set[str] = set()

    def count(self, waiting: collections.abc.Container[str]) -> int:
        """Return how many servers have landed since the last call.

        Only servers that wait no longer are looked up. Each of them is looked
        up until its rebuild has ended.

        :param waiting: the UUIDs of the servers that still wait.
        """
        landed = 0
        for uuid in sorted(self._without_room):
            if uuid in waiting:
                continue
            try:
                state = rebuild_state.of(self._context, uuid, self._down)
            except outages.DATABASES:
                continue
            if state is not rebuild_state.State.ON_ITS_WAY:
                self._without_room.discard(uuid)
            landed += state is rebuild_state.State.LANDED
        return landed

    def note_no_room(self, uuids: collections.abc.Iterable[str]) -> None:
        """Note the servers for which Placement has no room."""
        self._without_room.update(uuids)

    def note_room(self, uuids: collections.abc.Iterable[str]) -> None:
        """Note the servers for which Placement has room."""
        self._without_room.difference_update(uuids)


class ExpiredServers:
    """Counts servers whose time ends."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def count(
        self, uuids: collections.abc.Set[str],
        is_published: ty.Callable[[str], bool],
    ) -> int:
        """Return how many servers have expired since the last call.

        :param uuids: all servers that are expired now.
        :param is_published: whether the owner of a server was told that it
            has expired, perhaps by an earlier process.
        """
        new = sum(not is_published(uuid) for uuid in uuids - self._known)
        self._known = set(uuids)
        return new
