# SPDX-License-Identifier: Apache-2.0

"""Tells an outage from a problem of one server."""

from __future__ import annotations

import typing as ty

from oslo_db import exception as db_exc
import sqlalchemy.exc

from cell0_rebuild import exceptions

# A database is away.
DATABASES: ty.Final = (
    db_exc.CantStartEngineError, db_exc.DBConnectionError,
    sqlalchemy.exc.TimeoutError)

# Without these, nothing is known of any server.
ALL: ty.Final = (*DATABASES, exceptions.NoPlacement)

# So many failures in a row are an outage.
_TOO_MANY = 3


class Failures:
    """Tells an outage from requests that fail for one subject.

    A subject is what a request is about, for example a server.
    """

    def __init__(self) -> None:
        # The subjects that failed since the last success, numbered as tried.
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

    def rank(self, subject: str) -> int:
        """Return how late a subject is tried; 0 unless there is an outage.

        In an outage the first failure ends the sweep. So what was not tried
        yet comes first then. Otherwise a few that fail would come first again
        and again.
        """
        if self._in_a_row < _TOO_MANY:
            return 0
        return self._tried.get(subject, 0)
