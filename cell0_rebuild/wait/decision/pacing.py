# SPDX-License-Identifier: Apache-2.0

"""How fast servers that wait are tried. Nothing here sleeps."""

from __future__ import annotations

import datetime
import hashlib
import typing as ty

from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

# Seconds between two sweeps; the second while servers come back.
_SHORTEST, _MOVING, LONGEST = 2.0, 0.25, 60.0
# Seconds that no sweep asks for longer, and of which it may use the budget.
_PASS, _SOON = 5.0, 6.0
# A service rests so many times as long as a sweep of its takes, unless servers
# come back.
_RESTS = 4
# How far a rest is longer or shorter, as a part of it.
_SPREAD = 0.2
# More doublings than that fit into no rest.
_DOUBLINGS = 32


def rest(
    uuid: str, failures: int, backoff: datetime.timedelta,
    backoff_max: datetime.timedelta,
) -> datetime.timedelta:
    """Return how long a server rests after rebuilds that found no host.

    It is up to a fifth longer or shorter than the options say, so that
    servers that failed together do not come back together. The same server
    and number give the same time.

    :param failures: how many of them in a row.
    :param backoff: after the first; it doubles with each.
    :param backoff_max: the most that it doubles to.
    """
    if failures < 1:
        return datetime.timedelta()
    seconds = min(
        backoff.total_seconds() * 2.0 ** min(failures - 1, _DOUBLINGS),
        backoff_max.total_seconds())
    digest = hashlib.sha256(f'{uuid} {failures}'.encode()).digest()
    part = int.from_bytes(digest[:4], 'big') / (2 ** 32 - 1)
    return datetime.timedelta(
        seconds=seconds * (1 + _SPREAD * (2 * part - 1)))


def next_try(
    server: values.Waiting, backoff: datetime.timedelta,
    backoff_max: datetime.timedelta,
) -> datetime.datetime | None:
    """Return until when a server rests; None if it has not been tried.

    :returns: in UTC without a time zone; it may be past.
    """
    if server.tried_at is None:
        return None
    return server.tried_at + rest(
        server.uuid, server.failures, backoff, backoff_max)


def rests_until(
    server: values.Waiting, section: cfg.ConfigOpts.GroupAttr,
    now: datetime.datetime,
) -> datetime.datetime | None:
    """Return until when a server rests; None if it does not.

    A try of the future, by a nova-api whose clock is ahead, tells nothing.

    :param section: the options.
    """
    until = next_try(server, section.backoff, section.backoff_max)
    return until if (
        until is not None and server.tried_at is not None
        and server.tried_at <= now < until) else None


def most_seconds(budget: int, late: float = 0.0) -> float:
    """Return how long Placement may be asked for room in one sweep.

    :param budget: how much of its time may be spent, in percent.
    :param late: for how many seconds that was allowed. A sweep may be long.
    """
    return min(_PASS, min(_SOON + late, LONGEST) * budget / 100)


def asks_in(probe_seconds: float, budget: int) -> float:
    """Return the seconds until Placement may be asked for room again.

    :param probe_seconds: how long it was asked for room.
    :param budget: how much of that time may be spent, in percent.
    """
    return min(LONGEST, probe_seconds * 100 / budget)


def interval(asks_in: float, moving: bool, has_room: bool) -> float:
    """Return the seconds from one sweep to the next.

    :param asks_in: the seconds until Placement may be asked again.
    :param moving: whether servers come back now. Each that finds a host makes
        way for another one.
    :param has_room: whether there is some, for which Placement need not be
        asked again.
    """
    if moving and has_room:
        return _MOVING
    return max(_MOVING if moving else _SHORTEST, asks_in)


def pause(interval: float, own_seconds: float, moving: bool) -> float:
    """Return the seconds from the end of a sweep to the next.

    :param interval: the least; see :func:`interval`.
    :param own_seconds: how long the sweep took, without the rebuilds that it
        asked for: while many servers come back, most of a sweep is that.
    :param moving: whether servers come back now.
    """
    rests = 1 if moving else _RESTS
    return min(LONGEST, max(interval, rests * own_seconds))
