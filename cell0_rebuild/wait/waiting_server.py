# SPDX-License-Identifier: Apache-2.0

"""A server that waits for capacity, as plain values.

Nothing of it is stored as such: it is read from Nova's databases for each
sweep. It has no shape, because that takes far longer to find than to read
these values.
"""

from __future__ import annotations

import dataclasses
import datetime


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A server that waits.

    All times are UTC without a time zone, as Nova stores them.

    :param created_at: when its owner created the server.
    :param deadline: from then on it waits no longer: it has expired.
    :param asked: whether its owner or its flavor asked that it waits; if not,
        it is the site's default.
    :param nice: its owner's wish to stand back, 0 or more.
    :param priority: an operator's; higher comes first.
    :param held: whether an operator holds it.
    :param locked: whether it is locked, which holds it as well.
    :param failures: how many rebuilds in a row found no host.
    :param tried_at: when the last of them began.
    """

    uuid: str
    project_id: str
    created_at: datetime.datetime
    deadline: datetime.datetime
    asked: bool
    nice: int = 0
    priority: int = 0
    held: bool = False
    locked: bool = False
    failures: int = 0
    tried_at: datetime.datetime | None = None
