# SPDX-License-Identifier: Apache-2.0

"""Kinds of values that the options of the waiting service have."""

from __future__ import annotations

import datetime
import re
import typing as ty

from oslo_config import types
from oslo_utils import netutils
from oslo_utils import timeutils

from cell0_rebuild.wait import durations

# Added to any date that Nova stores it is still a date.
_LONGEST = datetime.timedelta(days=365)
_SHORTEST = datetime.timedelta(seconds=1)
_URL = re.compile('[a-z][a-z0-9+.-]*://.+')


class Address(ty.NamedTuple):
    """Where a service listens."""

    host: str
    port: int


class _Written(types.ConfigType):  # type: ignore[misc]
    """A value whose default is shown as it is written."""

    def _formatter(self, value: str) -> str:
        return value


class Duration(_Written):
    """A duration between a second and a year, such as ``90m``."""

    def __init__(self) -> None:
        super().__init__(type_name='duration')

    def __call__(self, value: object) -> datetime.timedelta:
        """Return the duration.

        :raises ValueError: if it is none, too short or too long.
        """
        time = durations.parse(str(value))
        if not _SHORTEST <= time <= _LONGEST:
            raise ValueError(f'{value!r} is not between 1s and 365d')
        return time


class Moment(_Written):
    """A time that has passed, such as ``2026-03-01T12:00:00+00:00``."""

    def __init__(self) -> None:
        super().__init__(type_name='time')

    def __call__(self, value: object) -> datetime.datetime:
        """Return the time in UTC, without a time zone, as Nova stores it.

        :raises ValueError: if it is none, has no offset from UTC or is yet
            to come.
        """
        moment = datetime.datetime.fromisoformat(
            str(value).replace('Z', '+00:00'))
        if moment.utcoffset() is None:
            raise ValueError(f'{value!r} has no offset from UTC, such as Z')
        utc: datetime.datetime = timeutils.normalize_time(moment)
        if utc > timeutils.utcnow():
            raise ValueError(f'{value!r} is yet to come')
        return utc


class Listener(_Written):
    """``HOST:PORT``, with brackets around an IPv6 address."""

    def __init__(self) -> None:
        super().__init__(type_name='host:port')

    def __call__(self, value: str) -> Address:
        """Return the address.

        :raises ValueError: if it is none.
        """
        try:
            host, port = netutils.parse_host_port(value)
        except ValueError:
            host = port = None
        if not host or port is None or not netutils.is_valid_port(port):
            raise ValueError(f'{value!r} is no HOST:PORT')
        return Address(host, port)


class Url(_Written):
    """A URL; no error shows it, because it may have a password."""

    def __init__(self) -> None:
        super().__init__(type_name='URL')

    def __call__(self, value: str) -> str:
        """Return it as it is.

        :raises ValueError: if it is none.
        """
        if not _URL.fullmatch(value):
            raise ValueError('it does not begin with SCHEME://')
        return str(value)
