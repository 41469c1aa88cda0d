# SPDX-License-Identifier: Apache-2.0

"""Why a server finds no host, in words for its owner.

No text names a host or another project.
"""

from __future__ import annotations

import dataclasses
import enum

from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_log import log as logging

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.wait import outages

LOG = logging.getLogger(__name__)


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

    def message(self) -> str:
        """Return what the owner reads, and :func:`parsed`."""
        return f'{self.code.value}: {self}'


def parsed(message: str) -> tuple[str, str]:
    """Return the value of the code, and the text, of a message to an owner."""
    code, _, text = message.partition(': ')
    return code, text


def refused(error: Exception, uuid: str) -> Reason:
    """Return why it cannot be told what a server asks for.

    :param error: of Nova, or of a service that it asks.
    :raises Exception: the error itself, if it is no problem of this server: a
        database or Placement is away.
    """
    if isinstance(error, outages.ALL):
        raise error
    if isinstance(error, exception.NoValidHost):
        # Its own text names the host.
        return Reason(
            Code.BLOCKED, 'The host that was asked for is not there.')
    if isinstance(error, exception.NovaException):
        return Reason(Code.BLOCKED, error.format_message())
    db_errors.without_values(error)
    LOG.warning('It cannot be told what the server asks for: %s',
                exceptions.text(error), instance_uuid=uuid)
    return Reason(Code.BLOCKED, _safe_text(error))


def _safe_text(error: Exception) -> str:
    """Return what the owner may read: the error itself is for operators."""
    if (isinstance(error, neutron_exc.NeutronClientException)
            and 400 <= error.status_code < 500):
        return ('A network or a port that the server asks for is gone, or '
                'Neutron refuses it.')
    return 'It cannot be told now what the server asks for.'


_USUAL = {
    Code.CAPACITY: 'No host has room for the server.',
    Code.SCHEDULER:
        'There is room, but the filters of the scheduler refuse all hosts '
        'with room. It is tried again later.',
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
