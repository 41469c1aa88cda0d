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

# See stored.py for what a new one means. 1.1: aged. 1.2: cells. 1.3: brought.
VERSION = '1.3'


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
    :param aged: its age is that of the instance mapping. An older version of
        the package refreshes only the build request.
    :param cells: the UUIDs of the real cells that the conductor may have
        created the server in; None if an older version of the package has it.
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
    aged: bool = False
    cells: list[str] | None = None
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
                timeutils.normalize_time(mapped_at).isoformat()),
            aged=True)

    @classmethod
    def unknown(cls) -> AttemptRecord:
        """Return what is known of an attempt of which nothing is stored."""
        return cls(generation='', changed=[], baseline={})

    def touched(
        self, build_request: datetime.datetime | None,
        mapping: datetime.datetime | None,
    ) -> datetime.datetime | None:
        """Return when somebody has worked on the attempt last.

        An update by the owner does not count: it writes only the build
        request.

        :param build_request: when it was written last.
        :param mapping: when the instance mapping was.
        """
        return mapping if self.aged and mapping is not None else build_request

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


# What each entry may be, and what it is if it is missing.
_ENTRIES: dict[str, tuple[tuple[type, ...], ty.Any]] = {
    'generation': (stored.TEXT, stored.NEEDED),
    'baseline': ((dict,), {}),
    'asked': ((dict,), {}),
    'mapped_at': (stored.TEXT_OR_NONE, None),
    'taken_by': (stored.TEXT_OR_NONE, None),
    'answered': ((bool,), False),
    'accepted': ((bool,), False),
    'aged': ((bool,), False),
    'cells': ((list, type(None)), None),
    'brought': ((dict,), {}),
    'version': (stored.TEXT, stored.FIRST),
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
    known = {name: stored.entry(values, name, *form)
             for name, form in _ENTRIES.items()}
    known['changed'] = stored.texts(values, 'changed')
    _check_time(known['mapped_at'])
    # All that this package knows is stored with it from here on.
    known['version'] = stored.newest(known['version'], VERSION)
    return AttemptRecord(**known, others={
        name: value for name, value in values.items() if name not in known})


@dataclasses.dataclass(frozen=True)
class RetainedRecord:
    """The record of the attempt that was handed over last, not read yet.

    It is with what is retained of the server.

    :param primitive: what is stored; empty if an older version of the package
        has retained no record.
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
