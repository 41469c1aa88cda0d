# SPDX-License-Identifier: Apache-2.0

"""Every text that an owner reads, with its code.

Only what Nova or Placement says of a server is told in their own words, and
what is short in the words of :mod:`why`. No text names a host or another
project.
"""

from __future__ import annotations

from cell0_rebuild.wait import values

_Code, _Reason = values.Code, values.Reason

NO_HOST_HAS_ROOM = _Reason(
    _Code.CAPACITY, 'No host has room for the server.')
MORE_IS_SHORT = _Reason(
    _Code.CAPACITY,
    'No host has room for the server, and more than one of the things that it '
    'asks for is short.')
GROUP_HAS_NO_HOST = _Reason(
    _Code.CAPACITY,
    'No host has room for the server that the policy of its server group '
    'allows.')
FILTERS_REFUSE = _Reason(
    _Code.SCHEDULER,
    'There is room, but the last server like it that was tried found no host. '
    'It is tried again later.')
OTHERS_FIRST = _Reason(
    _Code.ORDER, 'There is room; other servers come first.')
OTHERS_BUILD = _Reason(
    _Code.ORDER,
    'There is room. The server is tried when those that are being built are '
    'ACTIVE.')
OTHERS_ASKED = _Reason(
    _Code.ORDER,
    'Placement was not asked about the server yet; others come first.')
ITS_TURN = _Reason(
    _Code.ORDER,
    'Placement has room. The server is tried when it is its turn.')
ANOTHER_REQUEST = _Reason(
    _Code.ORDER,
    'Another request was first. The server is looked at again soon.')
LOCKED = _Reason(
    _Code.LOCKED, 'The server is locked. It goes on when it is unlocked.')
HELD = _Reason(_Code.HELD, 'An operator holds the server.')
PAUSED = _Reason(
    _Code.PAUSED, 'An operator has paused all servers that wait.')
BUILDS_FAIL = _Reason(_Code.BROKEN_HOSTS, 'Paused: builds fail on hosts.')
PROJECT_FAILS = _Reason(
    _Code.BROKEN_HOSTS,
    'Paused: builds of the project fail. Its image may be too large.')
FOUND_NO_HOST = _Reason(
    _Code.BACKOFF,
    'The server was tried and found no host. It is tried again later.')
EXPIRED = _Reason(
    _Code.EXPIRED,
    'Its time is over, and the server waits no longer. Its owner can still '
    'rebuild it.')
ENDED = _Reason(
    _Code.ENDED,
    'An operator has ended the waiting. Its owner can still rebuild it.')
NO_ROLE = _Reason(
    _Code.BLOCKED,
    'The waiting service has no role in the project of the server.')
NO_ENDPOINT = _Reason(
    _Code.BLOCKED,
    'The project of the server has no endpoint of the compute API.')
NO_ANSWER = _Reason(
    _Code.AWAY,
    'The request for the rebuild gets no answer. It is made again soon.')
PLACEMENT_FAILS = _Reason(
    _Code.BLOCKED,
    'Placement cannot tell whether there is room for what the server asks '
    'for. It is asked again later.')
PLACEMENT_REFUSES = _Reason(
    _Code.BLOCKED,
    'The server asks for more things than Placement can be asked for at once.')
UNREADABLE = _Reason(
    _Code.BLOCKED,
    'What operators have decided about the server cannot be read.')
NO_SUCH_HOST = _Reason(
    _Code.BLOCKED, 'The host that was asked for is not there.')
NEUTRON_REFUSES = _Reason(
    _Code.BLOCKED,
    'A network or a port that the server asks for is gone, or Neutron refuses '
    'it.')
UNKNOWN_DEMANDS = _Reason(
    _Code.BLOCKED, 'It cannot be told now what the server asks for.')
UNKNOWN_IMAGE = _Reason(
    _Code.BLOCKED, 'It cannot be told now which image the server has.')

# The fault of a server that was shown as BUILD and waits no longer.
WAITS_NO_LONGER = (
    'The server found no host while it waited. It waits no longer, and can '
    'still be rebuilt or deleted.')
