# SPDX-License-Identifier: Apache-2.0

"""Database errors without the values of their statements.

The text of a database error has the statement and its values, which may be
user data and personality files. Nova's logs, faults and events, and the
messages between its services, have the texts of errors.
"""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import re
import typing as ty

from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
import sqlalchemy.exc
import tenacity

_F = ty.TypeVar('_F', bound=ty.Callable[..., ty.Any])

# For what has to be done, or known, although a database went away in it,
# perhaps after it had committed.
patiently = tenacity.retry(
    retry=tenacity.retry_if_exception_type(db_exc.DBError),
    stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(0.2),
    reraise=True)

# MariaDB's ER_CHECKREAD.
_RECORD_CHANGED = 1020

_VALUES = re.compile(r'\[parameters: .*', re.DOTALL)


def without_values(error: BaseException) -> None:
    """Take the values out of an error, and out of what it came from."""
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


@contextlib.contextmanager
def hidden_values() -> collections.abc.Iterator[None]:
    """Let errors pass without the values."""
    try:
        yield
    except Exception as error:
        without_values(error)
        raise


def retried(function: _F) -> _F:
    """Try a transaction again after a deadlock; its errors tell no values.

    A transaction within another one is not: the database has rolled back the
    outer one as well, which is to be tried again as a whole.
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
    """Let MariaDB's newest kind of conflict be the deadlock that it is.

    From 11.6 on, it lets no transaction lock what was changed since that
    first read anything. Only the newest oslo.db knows the error.
    """
    try:
        yield
    except sqlalchemy.exc.DBAPIError as error:
        if _RECORD_CHANGED not in error.orig.args[:1]:
            raise
        raise db_exc.DBDeadlock(error) from error
