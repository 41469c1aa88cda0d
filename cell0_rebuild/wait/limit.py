# SPDX-License-Identifier: Apache-2.0

"""How many servers of a project wait."""

from __future__ import annotations

import collections
import collections.abc

from cell0_rebuild.wait import waiting as records


def within(
    waiting: collections.abc.Iterable[records.Waiting], most: int
) -> list[records.Waiting]:
    """Return the servers that wait; the others do not.

    The oldest of a project do, whatever their owner or an operator wishes: so
    nobody who waits is pushed out.

    :param most: how many of a project; 0 is no limit.
    """
    count: collections.Counter[str] = collections.Counter()
    found = []
    for server in sorted(
            waiting, key=lambda server: (server.created_at, server.uuid)):
        count[server.project_id] += 1
        if not most or count[server.project_id] <= most:
            found.append(server)
    return found
