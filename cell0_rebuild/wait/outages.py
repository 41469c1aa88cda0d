# SPDX-License-Identifier: Apache-2.0

"""What is an outage, and not the problem of one server."""

from __future__ import annotations

import collections.abc
import typing as ty

from oslo_db import exception as db_exc
import sqlalchemy.exc

from cell0_rebuild import exceptions

# A database is away.
DATABASES: ty.Final = (
    db_exc.CantStartEngineError, db_exc.DBConnectionError,
    sqlalchemy.exc.TimeoutError)

# Without these nothing can be told of any server.
ALL: ty.Final = (*DATABASES, exceptions.NoPlacement)

_Any = ty.TypeVar('_Any')

# So many requests in a row that fail are no longer the problem of one server.
_TOO_MANY = 3


class Failures:
    """Tells requests that fail on one subject from a service that is broken.

    A subject is what a request is about, say a server.
    """

    def __init__(self) -> None:
        # When each was tried since the last request that did not fail.
        self._tried: dict[str, int] = {}
        self._in_a_row = 0

    def record(self, subject: str, failed: bool) -> bool:
        """Count an answer; tell whether it is an outage.

        :param failed: whether the service failed, say with 500.
        """
        if not failed:
            self._tried.clear()
            self._in_a_row = 0
            return False
        self._in_a_row += 1
        self._tried[subject] = self._in_a_row
        return self._in_a_row >= _TOO_MANY

    def ordered(
        self, found: collections.abc.Iterable[_Any],
        subject: ty.Callable[[_Any], str],
    ) -> list[_Any]:
        """Return what is to be tried, in its order but for an outage.

        In an outage each try may be the last one of a sweep. Those that were
        not tried yet come first then, or many that fail would keep all
        others from their turn.

        :param subject: of each.
        """
        if self._in_a_row < _TOO_MANY:
            return list(found)
        return sorted(
            found, key=lambda one: self._tried.get(subject(one), 0))
