# SPDX-License-Identifier: Apache-2.0

"""Whether a server waits for capacity, how long, and who asked for it.

An owner asks with the metadata of the server, a flavor with an extra spec.
While the server is buried, only a rebuild can replace the metadata.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import re

from cell0_rebuild.wait import durations

WAIT = 'cell0_rebuild_wait'
NICE = 'cell0_rebuild_nice'
FLAVOR_WAIT = 'cell0_rebuild:wait'

# More is the same: no server waits longer than a year of hours.
NICEST = 8760

_Values = collections.abc.Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Site:
    """What the options say; read once, because there are many servers.

    :param who: ``asked``, ``all`` or ``off``.
    :param default_time: for who does not say how long.
    :param max_time: the longest.
    """

    who: str
    default_time: datetime.timedelta
    max_time: datetime.timedelta


@dataclasses.dataclass(frozen=True)
class Wish:
    """What is wished for a server.

    :param asked: whether its owner or its flavor asked that it waits.
    :param time: how long it waits, from its creation; None if it does not.
    :param nice: how far it stands back, from 0 to :data:`NICEST`.
    :param problem: a sentence about values that mean nothing and were left
        out, or None.
    """

    asked: bool
    time: datetime.timedelta | None
    nice: int = 0
    problem: str | None = None


def wish(metadata: _Values, extra_specs: _Values, site: Site) -> Wish:
    """Return what is wished for a server.

    Its owner comes before its flavor, and the flavor before the site. A value
    that means nothing is left out.

    :param metadata: of the server.
    :param extra_specs: of its flavor.
    """
    if site.who == 'off':
        return Wish(False, None)
    problems: list[str] = []
    nice = _nice(metadata, problems)
    asked = _asked(metadata, WAIT, site, problems)
    if asked is None:
        asked = _asked(extra_specs, FLAVOR_WAIT, site, problems)
    time = asked
    if asked is None and site.who == 'all':
        time = min(site.default_time, site.max_time)
    return Wish(bool(asked), time or None, nice, ' '.join(problems) or None)


def _asked(
    values: _Values, name: str, site: Site, problems: list[str]
) -> datetime.timedelta | None:
    """Return how long to wait: zero is not to wait, None says nothing."""
    value = values.get(name)
    if value is None:
        return None
    word = value.strip().lower()
    if word == 'no':
        return datetime.timedelta()
    try:
        time = site.default_time if word == 'yes' else durations.parse(word)
    except ValueError:
        problems.append(
            f'{name} is {value!r}, which is neither yes, no, nor a duration '
            f'such as 90m, 2h or 1d, and is left out.')
        return None
    return min(time, site.max_time)


def _nice(metadata: _Values, problems: list[str]) -> int:
    value = metadata.get(NICE, '0').strip()
    if re.fullmatch('[0-9]+', value):
        return min(int(value), NICEST)
    problems.append(
        f'{NICE} is {value!r}, which is no whole number from 0 on, and is '
        f'left out.')
    return 0
