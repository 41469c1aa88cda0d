# SPDX-License-Identifier: Apache-2.0

"""What shows that Cinder has written an image to a volume, or refuses to.

It rests on what Cinder does since it re-images volumes, in Yoga:

* ``cinder.volume.api.API.reimage`` sets a volume to ``downloading`` before it
  answers 202. So 202 is as good as having seen that.
* ``cinder.volume.manager.VolumeManager.reimage`` replaces the metadata of the
  image when the last byte is written, and then sets the status that the volume
  had before. If it fails, the metadata stay, and the status is ``error`` until
  somebody sets another.
"""

from __future__ import annotations

import dataclasses
import typing as ty

# A volume cannot end in error, be noticed and be set to another status in less
# seconds.
BLIND = 10

# Whoever sends it did not get the request, or not whole.
_TIMEOUT = 408


@dataclasses.dataclass(frozen=True)
class Seen:
    """A volume as Cinder shows it.

    :param image_id: of the image that was written to it last.
    :param gigabytes: its size.
    """

    status: str
    image_id: str | None
    gigabytes: int

    @classmethod
    def of(cls, volume: dict[str, ty.Any]) -> Seen:
        """Return it of a volume as Nova's client of Cinder gives it."""
        return cls(
            volume['status'],
            volume.get('volume_image_metadata', {}).get('image_id'),
            volume['size'])

    @property
    def is_busy(self) -> bool:
        """Whether an image is being written to it."""
        return self.status == 'downloading'


def is_refused(code: int | None, before: Seen, after: Seen) -> bool:
    """Tell whether Cinder has refused to write, and has begun nothing.

    A client that gets no answer sends a request again. Cinder refuses the
    second if it has begun by the first.

    :param code: the status of the answer; None if there was none.
    :param before: the volume before Cinder was asked.
    :param after: the volume after that.
    """
    return (code is not None and 400 <= code < 500 and code != _TIMEOUT
            and before == after)


def is_written(
    image_id: str, before: Seen, after: Seen, unseen: float | None
) -> bool:
    """Tell whether a write of an image was seen to begin and to end well.

    :param before: the volume before Cinder was asked.
    :param after: the volume when it was not busy any more.
    :param unseen: so many seconds ago it was seen to be busy; None if never.
    """
    if (after.status, after.image_id) != (before.status, image_id):
        return False
    # If Cinder said the same before, it may have failed, and somebody may have
    # set the status.
    return before.image_id != image_id or (
        unseen is not None and unseen <= BLIND)
