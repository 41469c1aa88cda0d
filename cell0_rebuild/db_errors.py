# SPDX-License-Identifier: Apache-2.0

"""Database errors without the values of their statements.

The text of a database error has the statement and its values. The values may
be user data and personality files. Nova writes the texts of errors to its
logs, faults and events, and into the messages between its services.
"""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import re
import typing as ty

from nova import exception
from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
import sqlalchemy.exc
import tenacity

_F = ty.TypeVar('_F', bound=ty.Callable[..., ty.Any])

# For steps that must succeed although a database goes away in the middle,
# perhaps after it has committed.
patiently = tenacity.retry(
    retry=tenacity.retry_if_exception_type(db_exc.DBError),
    stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(0.2),
    reraise=True)

# MariaDB's ER_CHECKREAD.
_RECORD_CHANGED = 1020

_VALUES = re.compile(r'\[parameters: .*', re.DOTALL)


def without_values(error: BaseException) -> None:
    """Remove the values from an error and from its causes."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or found in seen:
            continue
        seen.append(found)
        if isinstance(found, sqlalchemy.exc.StatementError):
            found.hide_parameters = True
        found.args = tuple(
            _VALUES.sub('[parameters hidden]', arg)
            if isinstance(arg, str) else arg for arg in found.args)
        waiting += [found.__cause__, found.__context__]


def is_of_value(error: Exception) -> bool:
    """Tell whether a column, or Nova, does not take a value.

    Another try would end likewise.
    """
    # oslo.db has no name for those of MariaDB.
    return isinstance(getattr(error, 'inner_exception', error), (
        sqlalchemy.exc.DataError, db_exc.DBInvalidUnicodeParameter,
        UnicodeError, exception.InstanceExists))


@contextlib.contextmanager
def hidden_values() -> collections.abc.Iterator[None]:
    """Remove the values from the errors that pass."""
    try:
        yield
    except Exception as error:
        without_values(error)
        raise


def retried(function: _F) -> _F:
    """Try a transaction again after a deadlock, and hide values in errors.

    A transaction inside another one is not tried again: the database has
    rolled back the outer one as well, and the whole of it has to be tried
    again.
    """
    @functools.wraps(function)
    def once(*args: ty.Any, **kwargs: ty.Any) -> ty.Any:
        with hidden_values(), _deadlocks():
            return function(*args, **kwargs)

    again = oslo_db_api.wrap_db_retry(
        max_retries=5, retry_on_deadlock=True)(once)

    @functools.wraps(function)
    def outermost(context: ty.Any, *args: ty.Any, **kwargs: ty.Any) -> ty.Any:
        is_within = getattr(context, 'session', None) is not None
        return (once if is_within else again)(context, *args, **kwargs)

    return ty.cast(_F, outermost)


@contextlib.contextmanager
def _deadlocks() -> collections.abc.Iterator[None]:
    """Raise MariaDB's newest kind of conflict as a deadlock.

    From 11.6 on, a transaction of MariaDB cannot lock a row that has changed
    since the first read of the transaction. Only the newest oslo.db knows the
    error.
    """
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        if _RECORD_CHANGED not in error.orig.args[:1]:
            raise
        raise db_exc.DBDeadlock(error) from error
