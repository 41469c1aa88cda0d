# SPDX-License-Identifier: Apache-2.0

"""What is an outage, and not the problem of one server."""

from __future__ import annotations

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

# So many requests in a row that fail are no longer the problem of one server.
_TOO_MANY = 3


class Failures:
    """Tells requests that fail on one server from a service that is broken."""

    def __init__(self) -> None:
        self._in_a_row = 0

    def hear(self, failed: bool) -> bool:
        """Count an answer; tell whether it is an outage.

        :param failed: whether the service failed, say with 500.
        """
        self._in_a_row = self._in_a_row + 1 if failed else 0
        return self._in_a_row >= _TOO_MANY
