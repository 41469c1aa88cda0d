#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

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
import sqlalchemy.exc

_F = ty.TypeVar('_F', bound=ty.Callable[..., ty.Any])

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
    """Try a transaction again after a deadlock; its errors tell no values."""
    @functools.wraps(function)
    def quiet(*args: ty.Any, **kwargs: ty.Any) -> ty.Any:
        with hidden_values():
            return function(*args, **kwargs)

    return ty.cast(_F, oslo_db_api.wrap_db_retry(
        max_retries=5, retry_on_deadlock=True)(quiet))
