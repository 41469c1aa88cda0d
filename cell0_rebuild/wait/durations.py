# SPDX-License-Identifier: Apache-2.0

"""Durations as people write them: ``2h``, ``90m``, ``1d``, ``45s``, ``45``."""

from __future__ import annotations

import datetime
import re

_UNITS = {'': 'seconds', 's': 'seconds', 'm': 'minutes', 'h': 'hours',
          'd': 'days'}
# A timedelta has at most nine digits of days.
_WRITTEN = re.compile('([0-9]{1,9})([smhd]?)')


def parse(text: str) -> datetime.timedelta:
    """Return a duration.

    :param text: a whole number and a unit: ``s``, ``m``, ``h`` or ``d``.
        Without a unit it is seconds.
    :raises ValueError: if it is something else.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError(
            f'{text!r} is no duration such as 45s, 90m, 2h or 1d')
    number, unit = match.groups()
    return datetime.timedelta(**{_UNITS[unit]: int(number)})
