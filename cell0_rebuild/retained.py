# SPDX-License-Identifier: Apache-2.0

"""What is retained of a create request while the server is buried."""

from __future__ import annotations

import dataclasses
import typing as ty

from nova import objects
from oslo_versionedobjects import exception as ovo_exc

from cell0_rebuild import exceptions
from cell0_rebuild import stored

# See stored.py for what a new one means.
VERSION = '1.0'

# The entries that are stored later than the rest: that of an attempt, as long
# as it lasts (move/journal.py), and whether it is known what is on the root
# volume.
ATTEMPT = 'attempt'
ROOT_KNOWN = 'root_known'

# The entries that a request to the scheduler is made of.
_ASKED = ('requested_networks', 'requested_destination')


@dataclasses.dataclass(frozen=True)
class Retained:
    """What is retained of a create request from burial to rebuild.

    :param requested_networks: a NetworkRequestList, or None if the owner
        asked for nothing in particular.
    :param requested_destination: a Destination, or None: the host or node
        that an administrator asked for.
    :param injected_files: ``[path, content]`` of each personality file; the
        content is None if it is not retained.
    :param root_known: it is known what is on the root volume. It is not from
        before Cinder is asked to write an image to it until it was seen to
        do so.
    """

    requested_networks: objects.NetworkRequestList | None
    requested_destination: objects.Destination | None = None
    injected_files: list[list[str | None]] = dataclasses.field(
        default_factory=list)
    root_known: bool = True

    def to_primitive(self) -> dict[str, ty.Any]:
        """Return what is stored in the blob."""
        return {
            'version': VERSION,
            'requested_networks': _stored(self.requested_networks),
            'requested_destination': _stored(self.requested_destination),
            'injected_files': [list(file) for file in self.injected_files],
            ROOT_KNOWN: self.root_known}

    @classmethod
    def from_primitive(cls, primitive: ty.Any) -> Retained:
        """Return what was stored by :meth:`to_primitive`.

        :raises Unreadable: if this package cannot read it.
        """
        values = stored.entries(primitive, VERSION)
        return cls(
            _loaded(values, 'requested_networks', objects.NetworkRequestList),
            _loaded(values, 'requested_destination', objects.Destination),
            _files(values),
            root_known_of(values))


def attempt_of(primitive: ty.Any) -> ty.Any:
    """Return the entry of an attempt as it is stored; None if there is none.

    :raises Unreadable: if this package cannot read what it is in.
    """
    return stored.entries(primitive, VERSION).get(ATTEMPT)


def root_known_of(primitive: ty.Any) -> bool:
    """Return whether it is known what is on the root volume.

    :raises Unreadable: if this package cannot read it.
    """
    return bool(stored.entry(
        stored.entries(primitive, VERSION), ROOT_KNOWN, (bool,), True))


def asked_of(primitive: ty.Any) -> ty.Any:
    """Return what was asked of the scheduler, as it is stored.

    It is only compared. What is damaged is like nothing but its equal.
    """
    return {name: primitive.get(name) for name in _ASKED} if isinstance(
        primitive, dict) else primitive


def _stored(value: ty.Any) -> ty.Any:
    return None if value is None else value.obj_to_primitive()


def _loaded(values: dict[str, ty.Any], name: str, cls: ty.Any) -> ty.Any:
    primitive = stored.entry(values, name, (dict, type(None)), stored.NEEDED)
    if primitive is None:
        return None
    try:
        value = cls.obj_from_primitive(primitive)
        value.obj_reset_changes(recursive=True)
    except ovo_exc.IncompatibleObjectVersion as error:
        raise exceptions.Unreadable(
            f'its entry {name} cannot be loaded: {error}') from error
    except Exception as error:
        # The text may have what is stored.
        raise exceptions.Unreadable(
            f'its entry {name} cannot be loaded ({type(error).__name__})'
        ) from error
    if not isinstance(value, cls):
        raise stored.damaged(name)
    return value


def _files(values: dict[str, ty.Any]) -> list[list[str | None]]:
    files: list[list[str | None]] = stored.entry(
        values, 'injected_files', (list,), stored.NEEDED)
    if not all(_is_file(file) for file in files):
        raise stored.damaged('injected_files')
    return files


def _is_file(file: ty.Any) -> bool:
    return (isinstance(file, list) and len(file) == 2
            and isinstance(file[0], str)
            and isinstance(file[1], stored.TEXT_OR_NONE))
