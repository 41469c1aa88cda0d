# SPDX-License-Identifier: Apache-2.0

"""The order in which waiting servers are tried.

Each server has a turn. It is the time when the server was created, plus a
time by which it stands back. The server with the earliest turn comes first.
All servers grow older alike. So the order does not depend on the present
time, and nothing of it has to be stored.
"""

from __future__ import annotations

import collections
import collections.abc
import datetime
import operator
import typing as ty

from cell0_rebuild.wait import values

# A server that has waited a week longer makes up for a whole quota in use.
# The week was chosen from the results of "make simulate".
A_WHOLE_QUOTA = datetime.timedelta(days=7)
# An owner's wish to stand back counts hours.
_NICE = datetime.timedelta(hours=1)
# More is the same. A quota can be lowered below what is used, to 0 as well.
_MOST_QUOTAS = 30.0

_Item = ty.TypeVar('_Item')

Turn = tuple[datetime.datetime, datetime.datetime, str]


def turn(server: values.Waiting, share: float = 0.0) -> Turn:
    """Return the turn of a server; the least is the first.

    :param share: the part of its quota that its project uses: 0 or more, 1 is
        all of it. Where the oldest is first, it is left out.
    """
    return (server.created_at + min(share, _MOST_QUOTAS) * A_WHOLE_QUOTA
            + server.nice * _NICE, server.created_at, server.uuid)


def ordered(
    waiting: collections.abc.Iterable[values.Waiting],
    shares: collections.abc.Mapping[str, float],
) -> list[values.Waiting]:
    """Return all servers, the first first, where nothing was wasted.

    :param shares: of each project; a project that is not there uses nothing.
    """
    return sorted(waiting, key=lambda server: (
        -server.priority,
        turn(server, shares.get(server.project_id, 0.0))))


def in_turns(
    items: collections.abc.Iterable[_Item],
    project_of: collections.abc.Callable[[_Item], str],
) -> list[_Item]:
    """Return what takes time, one of each project in turn.

    What is done for one project may take very long. What is of the same
    project stays in its order.
    """
    count: collections.Counter[str] = collections.Counter()
    places: list[tuple[int, _Item]] = []
    for item in items:
        project_id = project_of(item)
        count[project_id] += 1
        places.append((count[project_id], item))
    return [item for _, item in sorted(places, key=operator.itemgetter(0))]
