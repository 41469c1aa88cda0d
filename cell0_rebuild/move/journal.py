# SPDX-License-Identifier: Apache-2.0

"""The entry of an attempt: what is stored of it, from its request to its end.

It is with what is retained of the server, in the stored RequestSpec. Attempt
and holder are the only proof of whose an attempt is. Where the server stands
is never stored: its mapping and build request tell that.

The build request carries a mark, the entry as it was at first, which never
changes. It tells that the build request is none of a create, and a recovery
what a service without this package has dropped. It is taken off before the
instance is created in a cell.
"""

from __future__ import annotations

import dataclasses
import typing as ty

from oslo_serialization import jsonutils
from oslo_utils import uuidutils

from cell0_rebuild import exceptions
from cell0_rebuild import retained
from cell0_rebuild import stored

if ty.TYPE_CHECKING:
    from nova import objects

MARK = 'cell0_rebuild'

# See stored.py for what a new one means.
VERSION = '1.0'


@dataclasses.dataclass
class Entry:
    """What is stored of an attempt.

    :param attempt: its ID, which the message for the conductor has.
    :param holder: who works on it: the attempt itself until it is taken, then
        a conductor, nova-api or a recovery, which choose a new ID.
    :param changed: the instance fields that the rebuild request changed.
    :param baseline: what was watched of the row in cell0 when the server left
        it, or was handed over; see :mod:`late_changes`.
    :param asked: the same of the build request when it was made, which is what
        the rebuild request wants it to be.
    :param answered: the request was answered while somebody had the attempt.
    :param accepted: the changes stay, even if the attempt fails.
    :param cells: the UUIDs of the real cells that may have a row of the
        server, of this attempt or an earlier one.
    :param count: of the steps. Two nodes of a Galera cluster that make a step
        at the same time conflict by it.
    :param version: of what is stored.
    :param others: what a newer version of the package has more.
    :param is_unproved: a recovery has taken over a server without a
        RequestSpec, in which no entry can be stored. Not stored itself.
    """

    attempt: str
    holder: str
    changed: list[str] = dataclasses.field(default_factory=list)
    baseline: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    asked: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    answered: bool = False
    accepted: bool = False
    cells: list[str] = dataclasses.field(default_factory=list)
    count: int = 0
    version: str = VERSION
    others: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    is_unproved: bool = False

    @classmethod
    def new(cls, **values: ty.Any) -> Entry:
        """Return the entry of an attempt that nobody has taken."""
        attempt = new_id()
        return cls(attempt, attempt, **values)

    @property
    def is_taken(self) -> bool:
        """Whether somebody works on it."""
        return self.holder != self.attempt

    def to_primitive(self) -> dict[str, ty.Any]:
        """Return what is stored."""
        values = dataclasses.asdict(self)
        del values['is_unproved']
        return {**values.pop('others'), **values}


# What each value may be. None may be missing.
_VALUES: dict[str, tuple[type, ...]] = {
    'attempt': stored.TEXT,
    'holder': stored.TEXT,
    'changed': (list,),
    'baseline': (dict,),
    'asked': (dict,),
    'answered': (bool,),
    'accepted': (bool,),
    'cells': (list,),
    'count': (int,),
    'version': stored.TEXT,
}


def new_id() -> str:
    """Return an ID of an attempt, or of a holder, which nobody else has."""
    return str(uuidutils.generate_uuid())


def read(values: ty.Any) -> Entry:
    """Return the entry that has these values.

    :raises Unreadable: if this package cannot read it.
    """
    values = stored.entries(values, VERSION)
    known = {name: stored.entry(values, name, kinds, stored.NEEDED)
             for name, kinds in _VALUES.items()}
    known.update({
        name: stored.texts(values, name) for name in ('changed', 'cells')})
    return Entry(**known, others={
        name: value for name, value in values.items() if name not in known})


def of(section: ty.Any) -> Entry | None:
    """Return the entry that is with what is retained of a server.

    :param section: what is stored; None if nothing is.
    :returns: None if there is no attempt.
    :raises Unreadable: if this package cannot read it.
    """
    values = None if section is None else retained.attempt_of(section)
    return None if values is None else read(values)


def is_marked(instance: objects.Instance) -> bool:
    """Tell whether the instance is that of the build request of an attempt."""
    return ('system_metadata' in instance
            and MARK in instance.system_metadata)


def mark_in(primitive: dict[str, ty.Any]) -> Entry | None:
    """Return the entry that a stored build request was marked with, if any.

    :param primitive: its stored instance.
    :raises Unreadable: if this package cannot read it.
    """
    metadata = primitive['nova_object.data'].get('system_metadata') or {}
    if MARK not in metadata:
        return None
    try:
        return read(jsonutils.loads(metadata[MARK]))
    except ValueError as error:
        raise exceptions.Unreadable('it is damaged') from error


def put_mark(instance: objects.Instance, entry: Entry) -> None:
    """Mark the instance of a build request."""
    instance.system_metadata = dict(
        instance.system_metadata,
        **{MARK: jsonutils.dumps(entry.to_primitive())})


def take_off(instance: objects.Instance) -> None:
    """Remove the mark from an instance."""
    metadata = dict(instance.system_metadata)
    metadata.pop(MARK, None)
    instance.system_metadata = metadata
