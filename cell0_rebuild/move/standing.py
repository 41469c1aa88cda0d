# SPDX-License-Identifier: Apache-2.0

"""Where a server stands: on its way, or at rest in cell0 or deleted.

What is to be done only while it is at rest is done inside of :func:`at_rest`.
An answer alone would be out of date when it is used: who asked may stall until
somebody else has built the server.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from cell0_rebuild.move import api_db
from cell0_rebuild.move import cells
from cell0_rebuild.move import fence


@contextlib.contextmanager
def at_rest(
    context: ty.Any, instance_uuid: str
) -> collections.abc.Iterator[bool]:
    """Tell whether a server is at rest, and keep it so meanwhile."""
    with fence.held(context, instance_uuid):
        yield is_at_rest(context, instance_uuid)


def is_at_rest(context: ty.Any, instance_uuid: str) -> bool:
    """Tell whether a server is buried or deleted: it needs no resources."""
    place = api_db.place(context, instance_uuid)
    return place is None or place.is_abandoned or _is_buried(context, place)


def is_in_cell0(context: ty.Any, instance_uuid: str) -> bool:
    """Tell whether a server is buried."""
    place = api_db.place(context, instance_uuid)
    return place is not None and _is_buried(context, place)


def _is_buried(context: ty.Any, place: api_db.Place) -> bool:
    return (place.build_request_id is None
            and place.cell_id == cells.cell0(context).id)
