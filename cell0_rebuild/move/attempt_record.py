# SPDX-License-Identifier: Apache-2.0

"""What is stored of an attempt, on its build request.

It is an entry in the system metadata of the instance of a build request. Any
Nova keeps it there through later updates. It is taken off before the instance
is created in a cell.

The generation tells one attempt from every other. The ID of the build request
would not do: SQLite, and MySQL after a restart, give the same ID again.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as ty

from oslo_serialization import jsonutils
from oslo_utils import timeutils
from oslo_utils import uuidutils

from cell0_rebuild import exceptions
from cell0_rebuild import stored

if ty.TYPE_CHECKING:
    from nova import objects

KEY = 'cell0_rebuild'

# See stored.py for what a new one means.
VERSION = '1.0'


@dataclasses.dataclass
class AttemptRecord:
    """What the build request of an attempt tells about it.

    :param generation: tells this attempt from every other.
    :param changed: the instance fields that the rebuild request changed.
    :param baseline: what was watched in cell0 when the server was read; see
        :mod:`late_changes`.
    :param asked: what the rebuild request wants it to be.
    :param mapped_at: when the instance mapping was written last, before.
    :param taken_by: the host of the conductor that works on it, and an ID
        of its message.
    :param answered: the request was answered while somebody had the attempt.
    :param accepted: the changes stay, even if the attempt fails.
    :param cells: the UUIDs of the real cells that the conductor may have
        created the server in.
    :param brought: what its owner has changed on the build request, and was
        brought into the row in the real cell by the hand-over.
    :param version: of what is stored.
    :param others: what a newer version of the package has more.
    """

    generation: str
    changed: list[str]
    baseline: dict[str, ty.Any]
    asked: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    mapped_at: str | None = None
    taken_by: str | None = None
    answered: bool = False
    accepted: bool = False
    cells: list[str] = dataclasses.field(default_factory=list)
    brought: dict[str, ty.Any] = dataclasses.field(default_factory=dict)
    version: str = VERSION
    others: dict[str, ty.Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def new(
        cls, instance: objects.Instance, baseline: dict[str, ty.Any],
        mapped_at: datetime.datetime | None,
    ) -> AttemptRecord:
        """Return the record of an attempt that begins.

        :param instance: the instance to build, with the changes that the
            rebuild request makes.
        """
        return cls(
            uuidutils.generate_uuid(), sorted(instance.obj_what_changed()),
            baseline, mapped_at=None if mapped_at is None else (
                timeutils.normalize_time(mapped_at).isoformat()))

    @classmethod
    def unknown(cls) -> AttemptRecord:
        """Return what is known of an attempt of which nothing is stored."""
        return cls(generation='', changed=[], baseline={})

    @property
    def mapped(self) -> dict[str, ty.Any]:
        """What is watched of the row in the real cell, as it was brought."""
        flags = 'delete_on_termination'
        return {**({flags: self.baseline[flags]} if flags in self.baseline
                   else {}), **self.asked, **self.brought}

    def mapping_before(self) -> dict[str, ty.Any]:
        """Return the columns of a mapping whose move is taken back."""
        moment = self.mapped_at
        return {'updated_at': None if moment is None else (
            timeutils.parse_isotime(moment).replace(tzinfo=None))}

    def to_primitive(self) -> dict[str, ty.Any]:
        """Return what is stored."""
        values = dataclasses.asdict(self)
        return {**values.pop('others'), **values}

    def put_on(self, instance: objects.Instance) -> None:
        """Put the record on the instance of a build request."""
        instance.system_metadata = dict(
            instance.system_metadata,
            **{KEY: jsonutils.dumps(self.to_primitive())})

    def put_in(self, primitive: dict[str, ty.Any]) -> None:
        """Put the record into the stored instance of a build request."""
        _metadata(primitive)[KEY] = jsonutils.dumps(self.to_primitive())


# What each entry may be. None may be missing.
_ENTRIES: dict[str, tuple[type, ...]] = {
    'generation': stored.TEXT,
    'changed': (list,),
    'baseline': (dict,),
    'asked': (dict,),
    'mapped_at': stored.TEXT_OR_NONE,
    'taken_by': stored.TEXT_OR_NONE,
    'answered': (bool,),
    'accepted': (bool,),
    'cells': (list,),
    'brought': (dict,),
    'version': stored.TEXT,
}


def is_on(instance: objects.Instance) -> bool:
    """Tell whether the instance of a build request has a record."""
    return ('system_metadata' in instance
            and KEY in instance.system_metadata)


def of(instance: objects.Instance) -> AttemptRecord | None:
    """Return the record of a build request's instance; None if it has none.

    :raises Unreadable: if this package cannot read it.
    """
    return _parsed(
        instance.system_metadata[KEY]) if is_on(instance) else None


def of_generation(
    primitive: dict[str, ty.Any], generation: str
) -> AttemptRecord | None:
    """Return the record of an attempt; None if its instance has another.

    Whoever has the attempt could read the record when it began.

    :param primitive: the stored instance of a build request.
    """
    try:
        found = _parsed(_metadata(primitive).get(KEY))
    except exceptions.Unreadable:
        return None
    return found if found and found.generation == generation else None


def copy(source: dict[str, ty.Any], target: dict[str, ty.Any]) -> bool:
    """Put the record of one stored instance on another, as it is stored.

    This package may be unable to read it.

    :returns: False if the source has none; the target is left then.
    """
    text = _metadata(source).get(KEY)
    if text is not None:
        _metadata(target)[KEY] = text
    return text is not None


def _metadata(primitive: dict[str, ty.Any]) -> dict[str, ty.Any]:
    """Return the system metadata of a stored instance, which it is part of.

    :param primitive: the stored instance of a build request.
    """
    fields = primitive['nova_object.data']
    if not fields.get('system_metadata'):
        fields['system_metadata'] = {}
    found: dict[str, ty.Any] = fields['system_metadata']
    return found


def _parsed(text: str | None) -> AttemptRecord | None:
    if text is None:
        return None
    try:
        values = jsonutils.loads(text)
    except ValueError as error:
        raise exceptions.Unreadable('it is damaged') from error
    return read(values)


def read(values: ty.Any) -> AttemptRecord:
    """Return the record that has these entries.

    :raises Unreadable: if this package cannot read it.
    """
    values = stored.entries(values, VERSION)
    known = {name: stored.entry(values, name, kinds, stored.NEEDED)
             for name, kinds in _ENTRIES.items()}
    known.update({
        name: stored.texts(values, name) for name in ('changed', 'cells')})
    _check_time(known['mapped_at'])
    return AttemptRecord(**known, others={
        name: value for name, value in values.items() if name not in known})


@dataclasses.dataclass(frozen=True)
class RetainedRecord:
    """The record of the attempt that was handed over last, not read yet.

    It is with what is retained of the server.

    :param primitive: what is stored; empty if no record is: none was handed
        over, or a nova-api without this package has dropped it.
    """

    primitive: dict[str, ty.Any]

    def is_of(self, generation: str) -> bool:
        """Tell whether it is that of an attempt, which may be unreadable."""
        return bool(self.primitive.get('generation', '') == generation)

    def read(self) -> AttemptRecord:
        """Return the record.

        :raises Unreadable: if this package cannot read it.
        """
        return read(
            self.primitive) if self.primitive else AttemptRecord.unknown()


def _check_time(text: str | None) -> None:
    try:
        timeutils.parse_isotime(text or '1970-01-01T00:00:00')
    except ValueError as error:
        raise stored.damaged('mapped_at') from error


def take_off(instance: objects.Instance) -> None:
    """Remove the record from an instance."""
    metadata = dict(instance.system_metadata)
    metadata.pop(KEY, None)
    instance.system_metadata = metadata
