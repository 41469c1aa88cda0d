# SPDX-License-Identifier: Apache-2.0

"""What the waiting service reads, asks and decides on, as plain values.

All times are UTC without a time zone, as Nova stores them, unless they are
seconds of a clock that never goes back. Nothing here is stored.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import enum
import functools
import typing as ty

from cell0_rebuild.wait.demand import queries


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
    AWAY = 'away'
    EXPIRED = 'expired'
    ENDED = 'ended'


class Outcome(enum.Enum):
    """What became of a request for a rebuild.

    nova-api or Keystone may be away for one server or project alone. Without a
    token nothing was asked of nova-api. LATER is what nova-api says where
    another service is away. NOT_YET is no answer, but one may come.
    """

    ACCEPTED = 'accepted'
    BUSY = 'busy'
    BLOCKED = 'blocked'
    OVER_QUOTA = 'over quota'
    GONE = 'gone'
    NO_ROLE = 'no role'
    NO_ENDPOINT = 'no endpoint'
    FAILED = 'failed'
    AWAY = 'away'
    LATER = 'later'
    NO_KEYSTONE = 'no keystone'
    BAD_CREDENTIALS = 'bad credentials'
    NOT_ASKED = 'not asked'
    NOT_YET = 'not yet'


class State(enum.Enum):
    """Where a server is whose rebuild was accepted.

    SENT is on its way and has no host yet, as far as is known. SPAWNING is
    past all checks of its host. INTERRUPTED is in cell0, as is BURIED, and
    nobody knows whether there was a host for it.
    """

    SENT = 'sent'
    BUILDING = 'building'
    SPAWNING = 'spawning'
    BURIED = 'buried'
    INTERRUPTED = 'interrupted'
    LANDED = 'landed'
    FAILED_ON_HOST = 'failed on a host'
    GONE = 'gone'


# On a host, on which a build has not ended.
BUILDING: ty.Final = (State.BUILDING, State.SPAWNING)


class Now(ty.NamedTuple):
    """The present.

    :param seconds: of a clock that never goes back.
    """

    utc: datetime.datetime
    seconds: float


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a server waits, in words for its owner; see :mod:`texts`.

    :param code: two reasons with the same code are the same to its owner.
    """

    code: Code
    text: str

    def __str__(self) -> str:
        return self.text

    def message(self) -> str:
        """Return what the owner reads, and :func:`parsed`."""
        return f'{self.code.value}: {self}'


def parsed(message: str) -> Reason | None:
    """Return the reason of a message to an owner; None if it has none."""
    code, _, text = message.partition(': ')
    try:
        return Reason(Code(code), text)
    except ValueError:
        return None


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A server that waits.

    It has no kind, because that takes far longer to find than to read these
    values.

    :param created_at: when its owner created the server.
    :param deadline: from then on it waits no longer: it has expired.
    :param asked: whether its owner or its flavor asked that it waits; if not,
        it is the site's default.
    :param nice: its owner's wish to stand back, 0 or more.
    :param priority: an operator's; higher comes first.
    :param held: whether an operator holds it.
    :param locked: whether it is locked, which holds it as well.
    :param failures: how many rebuilds in a row found no host.
    :param tried_at: when the last of them began.
    """

    uuid: str
    project_id: str
    created_at: datetime.datetime
    deadline: datetime.datetime
    asked: bool
    nice: int = 0
    priority: int = 0
    held: bool = False
    locked: bool = False
    failures: int = 0
    tried_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Census:
    """What was found in one reading of the databases.

    :param waiting: also those that are held, or whose time is over.
    :param shown: who is shown as BUILD, also if it waits no longer.
    :param held_for: why an operator holds a server, by its UUID.
    :param problems: a sentence by the UUID of a server, about a wish that
        means nothing, or why the server cannot wait.
    :param unreadable: who would wait if it could be read what an operator has
        decided.
    """

    waiting: list[Waiting] = dataclasses.field(default_factory=list)
    shown: set[str] = dataclasses.field(default_factory=set)
    held_for: dict[str, str] = dataclasses.field(default_factory=dict)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    unreadable: set[str] = dataclasses.field(default_factory=set)


class Question(ty.NamedTuple):
    """What Placement is asked.

    :param query: what a host has to have.
    :param fallback: what will do if no host has that, or None.
    """

    query: str
    fallback: str | None = None

    @property
    def size(self) -> tuple[int, int]:
        """What is greater for a question that asks for more."""
        return _parts(self.query).size

    def asks_for_more(self, than: Question) -> bool:
        """Tell whether there is no room where another one has none.

        The fallback of the other one was asked of hosts that pin no CPU.
        """
        return _is_more(self.query, [than.query]) and (
            self.fallback is None or _is_more(self.fallback, than))


def _is_more(
    query: str, others: collections.abc.Iterable[str | None]
) -> bool:
    return any(queries.asks_for_more(_parts(query), _parts(other))
               for other in others if other is not None)


@dataclasses.dataclass(frozen=True)
class Room:
    """What Placement answers.

    :param hosts: that would fit, as far as they were counted.
    :param servers: how many of them these hosts have room for, at least.
    :param problem: why Placement refuses to look, for example because it
        knows no such trait or resource class.
    :param is_fallback: whether it is room for VCPU in place of PCPU.
    :param providers: the root providers of the hosts.
    :param is_cut: Placement has named no more candidates than was asked for.
        There may be more hosts, which were not counted.
    """

    hosts: int
    servers: int = 0
    problem: Reason | None = None
    is_fallback: bool = False
    providers: frozenset[str] = frozenset()
    is_cut: bool = False

    def __bool__(self) -> bool:
        return self.hosts > 0


@dataclasses.dataclass(frozen=True)
class Members:
    """Where the members of a server group with a hard policy are.

    :param full: the root providers of hosts that may have no other one.
    :param only: those that alone may have another one; None is any.
    """

    full: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def narrowed(self, room: Room) -> Room:
        """Return the room that the policy leaves for another member.

        Where not all hosts were counted, one of the others may have some.
        """
        left = room.providers - self.full
        if self.only is not None:
            left &= self.only
        if len(left) == len(room.providers) or (not left and room.is_cut):
            return room
        return dataclasses.replace(
            room, hosts=len(left), servers=min(room.servers, len(left)),
            providers=left)


class _Hashed:
    """What is a key so often that its hash is worth keeping."""

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash(dataclasses.astuple(ty.cast(ty.Any, self)))


@dataclasses.dataclass(frozen=True)
class Shape(_Hashed):
    """What servers have room for together, whatever filters say of each.

    :param question: for Placement.
    :param group: the UUID of their server group, if its policy is a hard one.
        Placement does not know it.
    """

    question: Question
    group: str | None = None
    __hash__ = _Hashed.__hash__

    def taken_by(self, other: Shape) -> int:
        """Return how many servers of this shape lose their room, at most.

        Each group of a request may be on a provider of its own.

        :param other: the shape of a server that is placed.
        """
        return max((sum(-(-taken // min(amounts))
                        for taken in other._amounts.get(name, ()))
                    for name, amounts in self._amounts.items()), default=1)

    @functools.cached_property
    def _amounts(self) -> collections.abc.Mapping[str, list[int]]:
        """How much each group asks for, by the resource class."""
        query, fallback = self.question
        return {**_amounts(fallback or ''), **_amounts(query)}


@dataclasses.dataclass(frozen=True)
class Kind(_Hashed):
    """Servers of one kind are taken or refused together.

    :param likeness: what only filters read; see :mod:`likeness`.
    """

    shape: Shape
    likeness: str = ''
    __hash__ = _Hashed.__hash__


@dataclasses.dataclass(frozen=True)
class Request:
    """A rebuild that is to be requested."""

    server: Waiting
    kind: Kind


@dataclasses.dataclass(frozen=True)
class Sent(Request):
    """A server whose rebuild was requested.

    :param at: when the sweep began that requested it.
    :param state: where it was seen last: if it is no longer SENT, the
        scheduler has found it a host.
    :param is_open: whether the request was not answered yet.
    :param is_doubtful: whether it is one of a project that was doubted.
    """

    at: datetime.datetime
    state: State = State.SENT
    is_open: bool = False
    is_doubtful: bool = False


@dataclasses.dataclass(frozen=True)
class Answer:
    """What was answered to a request for a rebuild.

    :param text: the reason of a refusal, in the words of nova-api or Keystone.
    :param reason: why it was not asked for, if its owner is to read that.
    """

    outcome: Outcome
    text: str = ''
    reason: Reason | None = None


@dataclasses.dataclass(frozen=True)
class Build:
    """The build of a server on a host.

    :param at: when it ended, or began if it has not.
    :param hosts: on which it has failed, or on which it has landed.
    :param waited: whether the server has waited; else somebody created it.
    """

    uuid: str
    project_id: str
    state: State
    at: datetime.datetime
    hosts: frozenset[str] = frozenset()
    waited: bool = True


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a rebuild ended.

    :param waited: the time since the server was created, if it has landed.
    """

    state: State
    waited: datetime.timedelta | None = None


@functools.lru_cache(1 << 14)
def _parts(query: str) -> queries.Parts:
    return queries.Parts(query)


def _amounts(query: str) -> dict[str, list[int]]:
    amounts = collections.defaultdict(list)
    for demand in queries.demands(query):
        if demand.amount:
            amounts[demand.what].append(demand.amount)
    return amounts
