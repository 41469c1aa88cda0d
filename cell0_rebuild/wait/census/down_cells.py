# SPDX-License-Identifier: Apache-2.0

"""Cells whose database fails, which are in the way of no other cell."""

from __future__ import annotations

import collections.abc
import contextlib
import time
import typing as ty

from nova import context as nova_context
from oslo_db import exception as db_exc
from oslo_log import log as logging
import sqlalchemy.exc

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.wait.memory import times

if ty.TYPE_CHECKING:
    from nova import objects

LOG = logging.getLogger(__name__)

# Also a password that was changed, or a table that is not there.
_ERRORS: ty.Final = (db_exc.DBError, sqlalchemy.exc.SQLAlchemyError)

# By Nova's own options each look takes 100 s at a database that was away from
# the start on. A cell is looked into again after a minute, or as many times as
# long as the look took, seconds.
_LIFE, _TIMES = 60, 20

_Row = ty.TypeVar('_Row')


class CellDown(Exception):
    """The database of the cell fails, or did a moment ago."""


class DownCells:
    """Remembers which cells are not looked into for a while."""

    def __init__(
        self, clock: collections.abc.Callable[[], float] = time.monotonic
    ) -> None:
        """:param clock: seconds that never go back."""
        self._clock = clock
        self._down = times.Expiring[str, bool](_LIFE)

    @contextlib.contextmanager
    def looking(
        self, cell: objects.CellMapping
    ) -> collections.abc.Iterator[None]:
        """Look into a cell inside.

        :param cell: its CellMapping.
        :raises CellDown: if that fails, or has failed not long ago.
        """
        uuid, begun = str(cell.uuid), self._clock()
        if self._down.is_good(uuid, begun):
            raise CellDown(uuid)
        try:
            yield
        except _ERRORS as error:
            if uuid not in self._down:
                db_errors.without_values(error)
                LOG.warning('%s does not tell what has become of servers: %s',
                            cells.name(cell), exceptions.text(error))
            now = self._clock()
            self._down.put(uuid, True, now, _TIMES * (now - begun))
            raise CellDown(uuid) from error
        self._down.drop(uuid)

    def in_each(
        self, context: nova_context.RequestContext,
        read: collections.abc.Callable[
            [nova_context.RequestContext], collections.abc.Iterable[_Row]],
    ) -> list[_Row]:
        """Return what is read in all cells that are not away, but cell0.

        :param context: an administrator's.
        :param read: called with a context that is targeted at a cell.
        """
        rows: list[_Row] = []
        # Nova's own list is as old as the process.
        for cell in cells.real(context):
            with contextlib.suppress(CellDown), self.looking(cell):
                rows += read(cells.targeted(context, cell))
        return rows
