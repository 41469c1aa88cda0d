# SPDX-License-Identifier: Apache-2.0

"""In which order waiting servers are tried.

Each has a turn: the time when it was created, moved to later by what should
make it stand back. Who has the earlier turn comes first. As all grow older
alike, the order does not depend on the time at which it is asked for, so
that nothing of it has to be stored.
"""

from __future__ import annotations

import collections.abc
import datetime

from cell0_rebuild.wait import waiting_server as records

# Who has waited a week longer has made up for a whole quota in use: chosen
# from the simulation of "make simulate".
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
    """Return all servers, those of a group in another order among them.

    Who was refused less often comes first. The groups themselves stay where
    they are, and so does who is in none.

    :param servers: in their order.
    :param group: of a server, or None.
    :param refused: how many times it was.
    """
    servers = list(servers)
    members: dict[str, list[records.Waiting]] = {}
    for server in servers:
        if (name := group(server)) is not None:
            members.setdefault(name, []).append(server)
    turns = {name: iter(sorted(found, key=refused))
             for name, found in members.items()}
    return [server if (name := group(server)) is None else next(turns[name])
            for server in servers]
