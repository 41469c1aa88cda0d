# SPDX-License-Identifier: Apache-2.0

"""Why a server finds no host, in words for its owner.

No text names a host or another project.
"""

from __future__ import annotations

import dataclasses
import enum

from nova import exception


class Code(enum.Enum):
    """What keeps a server waiting, or has ended it."""

    CAPACITY = 'capacity'
    SCHEDULER = 'scheduler'
    ORDER = 'order'
    QUOTA = 'quota'
    LOCKED = 'locked'
    HELD = 'held'
    PAUSED = 'paused'
    BROKEN_HOSTS = 'broken-hosts'
    BACKOFF = 'backoff'
    BLOCKED = 'blocked'
    EXPIRED = 'expired'


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a server waits.

    :param code: two reasons with the same code are the same to its owner.
    :param text: a sentence, or None for the usual one of the code.
    """

    code: Code
    text: str | None = None

    def __str__(self) -> str:
        return self.text or _USUAL[self.code]


def refused(error: exception.NovaException) -> Reason:
    """Return why Nova cannot tell what a server asks for.

    :param error: of :mod:`shapes`.
    """
    if isinstance(error, exception.NoValidHost):
        # Its own text names the host.
        return Reason(
            Code.BLOCKED, 'The host that was asked for is not there.')
    return Reason(Code.BLOCKED, error.format_message())


_USUAL = {
    Code.CAPACITY: 'No host has room for the server.',
    Code.SCHEDULER:
        'There is room, but no host with room meets all that the server asks '
        'for.',
    Code.ORDER: 'There is room; other servers come first.',
    Code.QUOTA: 'The quota of the project has no room for the server.',
    Code.LOCKED: 'The server is locked. It goes on when it is unlocked.',
    Code.HELD: 'An operator holds the server.',
    Code.PAUSED: 'An operator has paused all servers that wait.',
    Code.BROKEN_HOSTS: 'Paused: builds fail on hosts.',
    Code.BACKOFF:
        'The server was tried and found no host. It is tried again later.',
    Code.BLOCKED: 'The rebuild is refused.',
    Code.EXPIRED:
        'Its time is over, and the server waits no longer. Its owner can '
        'still rebuild it.',
}
