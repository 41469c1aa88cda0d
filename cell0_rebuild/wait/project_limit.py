# SPDX-License-Identifier: Apache-2.0

"""How many servers of a project wait."""

from __future__ import annotations

import collections
import collections.abc
import datetime

from cell0_rebuild.wait import waiting_server as records


def within(
    waiting: collections.abc.Iterable[records.Waiting], most: int,
    now: datetime.datetime,
) -> list[records.Waiting]:
    """Return the servers that wait; the others do not.

    The oldest of a project do, whatever their owner or an operator wishes: so
    nobody who waits is pushed out. Those whose time is over are all returned,
    and take nobody's place.

    :param most: how many of a project; 0 is no limit.
    :param now: UTC, without a time zone.
    """
    count: collections.Counter[str] = collections.Counter()
    within_limit = []
    for server in sorted(
            waiting, key=lambda server: (server.created_at, server.uuid)):
        count[server.project_id] += server.deadline > now
        if (not most or server.deadline <= now
                or count[server.project_id] <= most):
            within_limit.append(server)
    return within_limit
