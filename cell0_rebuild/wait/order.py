# SPDX-License-Identifier: Apache-2.0

"""The order in which waiting servers are tried.

Each server has a turn. It is the time when the server was created, plus a
time by which it stands back. The server with the earliest turn comes first.
All servers grow older alike. So the order does not depend on the present
time, and nothing of it has to be stored.
"""

from __future__ import annotations

import collections.abc
import datetime

from cell0_rebuild.wait import waiting_server as records

# A server that has waited a week longer makes up for a whole quota in use.
# The week was chosen from the results of "make simulate".
A_WHOLE_QUOTA = datetime.timedelta(days=7)
# An owner's wish to stand back counts hours.
_NICE = datetime.timedelta(hours=1)
# More is the same. A quota can be lowered below what is used, to 0 as well.
_MOST_QUOTAS = 30.0

_Servers = collections.abc.Iterable[records.Waiting]
_Shares = collections.abc.Mapping[str, float]
_Key = tuple[int, datetime.datetime, datetime.datetime, str]


def ordered(
    policy: str, waiting: _Servers, shares: _Shares,
    aging: datetime.timedelta = A_WHOLE_QUOTA,
) -> list[records.Waiting]:
    """Return all servers, the first first.

    :param policy: ``fair`` or ``fifo``.
    :param shares: of each project; see :func:`fair`.
    :param aging: likewise.
    """
    return fifo(waiting) if policy == 'fifo' else fair(
        waiting, shares, aging)


def fifo(waiting: _Servers) -> list[records.Waiting]:
    """Return all servers, the oldest first."""
    return fair(waiting, {})


def fair(
    waiting: _Servers, shares: _Shares,
    aging: datetime.timedelta = A_WHOLE_QUOTA,
) -> list[records.Waiting]:
    """Return all servers, the old ones of projects that use little first.

    :param shares: the part of its quota that a project uses, by its ID: 0 or
        more, 1 is all of it. A project that is not there uses nothing.
    :param aging: how much longer a server has to wait to make up for a whole
        quota in use.
    """
    def key(server: records.Waiting) -> _Key:
        share = min(shares.get(server.project_id, 0.0), _MOST_QUOTAS)
        turn = (server.created_at + share * aging
                + server.nice * _NICE)
        return -server.priority, turn, server.created_at, server.uuid

    return sorted(waiting, key=key)


def stand_back(
    servers: _Servers,
    group: collections.abc.Callable[[records.Waiting], str | None],
    refused: collections.abc.Callable[[records.Waiting], int],
) -> list[records.Waiting]:
    """Return all servers, with another order inside each group.

    In a group, the server that was refused least comes first. The places of a
    group do not change. A server that is in no group keeps its place.

    :param servers: in their order.
    :param group: returns the group of a server, or None.
    :param refused: returns how often a server was refused.
    """
    servers = list(servers)
    members: dict[str, list[records.Waiting]] = {}
    for server in servers:
        if (name := group(server)) is not None:
            members.setdefault(name, []).append(server)
    turns = {name: iter(sorted(in_group, key=refused))
             for name, in_group in members.items()}
    return [server if (name := group(server)) is None else next(turns[name])
            for server in servers]
