# SPDX-License-Identifier: Apache-2.0

"""What the image that a rebuild request names means for a server.

A server has an image if it was created with one: Nova shows it, and clients
send it by themselves. Otherwise the image of its root volume is the server's.
``nova.compute.api.API._create_instance`` decides so whose properties a server
gets.
"""

from __future__ import annotations

import dataclasses
import enum
import uuid


class Meaning(enum.Enum):
    """What a request has done with a buried server."""

    KEEP = 'the server keeps its image and its root disk'
    TAKE = 'the server gets the image of its root volume, which is kept'
    WRITE = 'the server and its root disk get the image'
    UNKNOWN = 'refused: it is not known what is on the root volume'
    TOO_OLD = 'refused: the microversion does not overwrite a volume'


@dataclasses.dataclass(frozen=True)
class Before:
    """What a server has before a rebuild.

    :param own: the ID of the image that it was created with; empty if it has
        none.
    :param is_volume_backed: it boots from a volume.
    :param on_volume: the ID of the image that its root volume has, or will be
        made from; None if there is none.
    :param is_known: it is known what is on the root volume.
    """

    own: str
    is_volume_backed: bool
    on_volume: str | None = None
    is_known: bool = True

    def has(self) -> str | None:
        """Return the ID of the image that the server has."""
        return self.own or self.on_volume


def meaning(before: Before, named: str | None, may_write: bool) -> Meaning:
    """Return what a request means for a buried server.

    :param named: the image that it names, in any form of a UUID; None if it
        names none.
    :param may_write: its microversion overwrites volumes.
    """
    if named is None:
        return Meaning.KEEP if before.is_known else Meaning.UNKNOWN
    if before.is_known and is_same(named, before.has()):
        return Meaning.KEEP
    if before.is_known and is_same(named, before.on_volume):
        return Meaning.TAKE
    if before.is_volume_backed and not may_write:
        return Meaning.TOO_OLD
    return Meaning.WRITE


def is_same(image_id: str, other: str | None) -> bool:
    """Tell whether two texts are the ID of one image.

    Nova takes a UUID in each form that Python reads, and stores it as it is.
    """
    return bool(other) and _plain(image_id) == _plain(str(other))


def _plain(image_id: str) -> str:
    try:
        return str(uuid.UUID(image_id))
    except ValueError:
        return image_id
