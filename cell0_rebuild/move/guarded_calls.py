# SPDX-License-Identifier: Apache-2.0

"""Locks that a rebuild holds while other services change something for it.

A process may stall between its look at the databases and the request that
depends on it. Without a lock, an operator could bury the server meanwhile, and
its owner could have it rebuilt.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from cell0_rebuild.move import api_db
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import standing

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects


@contextlib.contextmanager
def current(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    or_deleted: bool = False,
) -> collections.abc.Iterator[bool]:
    """Keep an attempt the current one, before it is handed over.

    :param or_deleted: go on also if the owner deleted the server on its way:
        nobody else works on it then.
    :raises StaleAttempt: if it is not the current one.
    """
    with standing.held(context, attempt.uuid):
        if not api_db.is_current(
                context, attempt.uuid, attempt.generation) and not (
                    or_deleted and standing.is_abandoned(
                        context, attempt.uuid)):
            raise attempt.stale()
        yield True


@contextlib.contextmanager
def in_cell(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    cell: objects.CellMapping,
) -> collections.abc.Iterator[None]:
    """Keep a server that was handed over in its cell.

    A recovery that waits for the lock then finds the server young, and leaves
    it alone.

    :raises StaleAttempt: if it is not there, or not by this attempt.
    """
    with standing.held(context, attempt.uuid):
        if not attempts.is_in(context, attempt, cell):
            raise attempt.stale()
        yield
        api_db.touch(context, attempt.uuid, cell.id)
