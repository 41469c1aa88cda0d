# SPDX-License-Identifier: Apache-2.0

"""Why a buried server finds no host, for an operator.

Nothing is changed or claimed. What is short is found by asking again with
one demand less at a time: where that finds room, this demand is what no host
with room for the rest can meet.
"""

from __future__ import annotations

import dataclasses
import math
import time
import typing as ty

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import probes
from cell0_rebuild.wait.demand import queries
from cell0_rebuild.wait.demand import shapes
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

# Of a host whose compute service is disabled.
DISABLED = 'COMPUTE_STATUS_DISABLED'

# No shape costs Placement more questions than that.
PROBES = 10

# So many hosts are counted, at most. Where many fit, all of them take long.
_HOSTS = 50

_FALLBACK = (
    'No host has the PCPU free that it asks for. The scheduler also takes a '
    'host with as many VCPU that reports no PCPU, if the host can pin them.')


@dataclasses.dataclass(frozen=True)
class Short:
    """What no host with room for the rest can meet.

    :param hosts: that would fit without it, as far as they were counted.
    """

    demand: queries.Demand
    hosts: int

    def __str__(self) -> str:
        many = 'host has' if self.hosts == 1 else 'hosts have'
        least = 'at least ' if self.hosts >= _HOSTS else ''
        return (f'{_missing(self.demand)}; {least}{self.hosts} {many} room '
                f'for the rest')


def _missing(demand: queries.Demand) -> str:
    if demand.what == DISABLED:
        return 'every host with room is disabled'
    return {
        queries.Kind.RESOURCE: f'no host has {demand} free',
        queries.Kind.TRAIT: f'no host with room has the {demand}',
        queries.Kind.FORBIDDEN_TRAIT:
            f'every host with room has the unwanted trait {demand.what}',
        queries.Kind.AGGREGATES:
            'no host of the availability zone or aggregate has room',
        queries.Kind.HOST: 'the host that was asked for has no room',
    }[demand.kind]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a server finds no host.

    :param asked: what it asks for.
    :param reason: None if Placement has room.
    :param short: each of them alone keeps it waiting.
    :param hosts: that have room; the scheduler may refuse them.
    :param notes: what else has to be known.
    """

    uuid: str
    asked: list[queries.Demand]
    reason: values.Reason | None
    short: list[Short] = dataclasses.field(default_factory=list)
    hosts: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)


def explain(context: nova_context.RequestContext, uuid: str) -> Explanation:
    """Tell why a server finds no host.

    :param context: an administrator's.
    :raises NotBuried: if it has not been buried.
    :raises NoPlacement: if it does not answer.
    """
    instance, spec = shapes.read(context, uuid)
    notes = list(_notes(spec))
    try:
        question = shapes.asked_of(context, instance, spec).question
    except Exception as error:
        return Explanation(uuid, [], shapes.refused(error, uuid), notes=notes)
    asked = queries.demands(question.query)
    room = probes.answer(context, question)
    if room.problem:
        return Explanation(uuid, asked, room.problem, notes=notes)
    if room.is_fallback:
        notes.append(_FALLBACK)
    if room:
        return Explanation(uuid, asked, None, hosts=room.hosts, notes=notes)
    short = list(shortage(context, question.query))
    return Explanation(uuid, asked, capacity(short), short, notes=notes)


def _notes(spec: objects.RequestSpec) -> ty.Iterator[str]:
    if spec.unreadable is not None:
        yield (f'What cell0-rebuild keeps of it cannot be read: '
               f'{spec.unreadable}. What its networks and ports ask for is '
               f'left out.')
    elif spec.retained is None:
        yield ('It was buried by a nova-conductor without cell0-rebuild. What '
               'its networks and ports ask for is unknown and left out.')


def shortage(
    context: nova_context.RequestContext, query: str,
    patience: float = math.inf,
) -> ty.Iterator[Short]:
    """Yield each demand that alone keeps the query from finding room.

    :param query: for which there is no room.
    :param patience: so many seconds later no more is asked.
    :raises NoPlacement: if it does not answer as it should, or nothing was
        found in time.
    """
    end, found = time.monotonic() + patience, False
    for demand in queries.demands(query)[:PROBES]:
        if time.monotonic() > end:
            if found:
                return
            raise exceptions.NoPlacement(
                f'after {patience} seconds it has not told what is short')
        rest = queries.without(query, demand)
        if rest is None:
            continue
        room = probes.room(context, queries.limited(rest, _HOSTS))
        if room:
            found = True
            yield Short(demand, room.hosts)


def capacity(short: list[Short]) -> values.Reason:
    """Return the reason of a server for which there is no room."""
    if not short:
        return texts.MORE_IS_SHORT
    text = '; '.join(map(str, short))
    return values.Reason(
        values.Code.CAPACITY, f'{text[0].upper()}{text[1:]}.')
