# SPDX-License-Identifier: Apache-2.0

"""Kinds of values that the options of the waiting service have."""

from __future__ import annotations

import datetime
import re
import typing as ty

from oslo_config import types
from oslo_utils import netutils

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
