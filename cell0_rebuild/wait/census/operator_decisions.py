# SPDX-License-Identifier: Apache-2.0

"""What an operator has decided about a server that waits.

It is an entry of the package's section of the RequestSpec; see :mod:`stored`
for its versions. It stays when a rebuild fails, and goes with
the rest when one succeeds.
"""

from __future__ import annotations

import dataclasses
import typing as ty

from cell0_rebuild import exceptions
from cell0_rebuild import retained
from cell0_rebuild import retained_db
from cell0_rebuild import stored

if ty.TYPE_CHECKING:
    from nova import context as nova_context

ENTRY = 'waiting'


@dataclasses.dataclass(frozen=True)
class Decision:
    """What an operator has decided.

    :param priority: higher comes first.
    :param held: whether the server is held.
    :param reason: why, for operators.
    :param ended: whether it waits no longer.
    """

    priority: int = 0
    held: bool = False
    reason: str | None = None
    ended: bool = False


def read(section: ty.Any) -> Decision:
    """Return what has been decided.

    :param section: the section of the RequestSpec as it is stored, or None.
    :raises Unreadable: if this package cannot read it.
    """
    if section is None:
        return Decision()
    values = _entries(section)
    return Decision(
        stored.entry(values, 'priority', (int,), 0),
        stored.entry(values, 'held', (bool,), False),
        stored.entry(values, 'reason', stored.TEXT_OR_NONE, None),
        stored.entry(values, 'ended', (bool,), False))


def current(
    context: nova_context.RequestContext, instance_uuid: str
) -> Decision | None:
    """Return what has been decided about a server by now.

    :param context: an administrator's.
    :returns: None if nobody can tell: nothing readable is retained of it.
    """
    try:
        section = retained_db.section(context, instance_uuid)
        return None if section is None else read(section)
    except (exceptions.Unreadable, ValueError, AttributeError):
        return None


def changed(
    section: ty.Any, changes: dict[str, ty.Any]
) -> dict[str, dict[str, ty.Any]]:
    """Return the entry of the section with some fields changed.

    The others are left as they are stored, also if they are unknown or
    damaged.

    :param changes: the fields of :class:`Decision` that change.
    :raises Unreadable: if this package cannot read the section or the entry.
    """
    return {ENTRY: {**_entries(section), **changes}}


def _entries(section: ty.Any) -> dict[str, ty.Any]:
    """Return the entries of what has been decided, also unknown ones.

    :raises Unreadable: if this package cannot read it.
    """
    return dict(stored.entry(
        stored.entries(section, retained.VERSION), ENTRY, (dict,), {}))
