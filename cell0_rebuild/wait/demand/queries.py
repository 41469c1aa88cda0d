# SPDX-License-Identifier: Apache-2.0

"""A query for allocation candidates, and the same with one demand less.

Plain values, as ``nova.scheduler.utils.ResourceRequest.to_querystring``
makes them and Placement's API reference explains them.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import re
from urllib import parse

_NAMED = re.compile(
    '(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{0,64})')
_Pairs = list[tuple[str, str]]

# A host that has more of these free has any less, too. Of others a provider
# may give only multiples, or no less than some amount.
_DIVISIBLE = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB')


class Kind(enum.Enum):
    """What a demand is about."""

    RESOURCE = 'resource'
    TRAIT = 'trait'
    FORBIDDEN_TRAIT = 'forbidden trait'
    AGGREGATES = 'aggregates'
    HOST = 'host'


@dataclasses.dataclass(frozen=True)
class Demand:
    """One thing that a query asks for.

    :param kind: what it is about.
    :param what: the resource class, trait, aggregates or provider.
    :param amount: of a resource; 0 for all else.
    :param group: the suffix of its request group, '' for the unnumbered.
    """

    kind: Kind
    what: str
    amount: int = 0
    group: str = ''

    def __str__(self) -> str:
        name = f'{self.amount} {self.what}' if self.amount else self.what
        return {
            Kind.RESOURCE: name, Kind.TRAIT: f'trait {name}',
            Kind.FORBIDDEN_TRAIT: f'without trait {name}',
            Kind.AGGREGATES: 'availability zone or aggregate',
            Kind.HOST: 'the host that was asked for'}[self.kind]


def demands(query: str) -> list[Demand]:
    """Return what a query asks for, resources first.

    :param query: without ``?``.
    """
    found = [demand for name, value in parse.parse_qsl(query)
             for demand in _demands(name, value)]
    return sorted(found, key=lambda demand: (
        list(Kind).index(demand.kind), demand.group, demand.what))


def without(query: str, demand: Demand) -> str | None:
    """Return the query without one demand.

    Placement wants resources in each group: one that is left without any
    goes as a whole.

    :returns: None if it asks for nothing then.
    """
    pairs = [(name, left) for name, value in parse.parse_qsl(query)
             if (left := _left(name, value, demand))]
    return _only_with_resources(pairs)


def limited(query: str, most: int) -> str:
    """Return the query for no more than so many candidates."""
    pairs = [(name, value) for name, value in parse.parse_qsl(query)
             if name != 'limit']
    return parse.urlencode(sorted([*pairs, ('limit', str(most))]))


class Parts:
    """What a query asks for, to be compared.

    :ivar amounts: of the divisible resources that may be on any provider.
    :ivar others: all else.
    :ivar size: who asks for the same and more has a greater one.
    """

    def __init__(self, query: str) -> None:
        found = demands(query)
        self.amounts = {demand.what: demand.amount for demand in found
                        if not demand.group and demand.what in _DIVISIBLE}
        # Groups are named by all of them.
        self.others = frozenset(
            pair for name, value in parse.parse_qsl(query)
            for pair in _compared(name, value))
        self.size = len(found), sum(self.amounts.values())


def _compared(
    name: str, value: str
) -> collections.abc.Iterator[tuple[str, str]]:
    match = _NAMED.fullmatch(name)
    if match is not None and match[2]:
        # They are compared as a whole.
        yield 'groups', f'{name}={value}'
    elif name in ('resources', 'required', 'root_required'):
        for item in value.split(','):
            if item.partition(':')[0] not in _DIVISIBLE:
                yield name, item
    elif name != 'limit':
        yield name, value


def asks_for_more(one: Parts, other: Parts) -> bool:
    """Tell whether a query asks for the same as another one, or for more.

    If not, it still may. Where there is no room for the other one, there is
    none for such a query.
    """
    return other.others <= one.others and all(
        amount <= one.amounts.get(name, 0)
        for name, amount in other.amounts.items())


def canonical(query: str) -> str:
    """Return the query with request groups that are named alike.

    Nova names a group after a port or a device of one server. Two servers
    that ask for the same differ in nothing else, in most cases: groups that
    are alike but for others of their subtree may change places.
    """
    pairs = parse.parse_qsl(query)
    groups = collections.defaultdict(list)
    for name, value in pairs:
        match = _NAMED.fullmatch(name)
        if match is not None and match[2]:
            groups[match[2]].append((match[1], value))
    names = {group: f'_{number}' for number, group in enumerate(
        sorted(groups, key=lambda group: sorted(groups[group])))}
    return parse.urlencode(sorted(
        _renamed(name, value, names) for name, value in pairs))


def _renamed(
    name: str, value: str, names: dict[str, str]
) -> tuple[str, str]:
    if name == 'same_subtree':
        return name, ','.join(sorted(
            names.get(group, group) for group in value.split(',')))
    match = _NAMED.fullmatch(name)
    if match is None:
        return name, value
    return f'{match[1]}{names.get(match[2], match[2])}', value


def _demands(name: str, value: str) -> collections.abc.Iterator[Demand]:
    if name == 'root_required':
        yield from _traits(value, name)
        return
    match = _NAMED.fullmatch(name)
    if match is None:
        return
    kind, group = match.groups()
    if kind == 'resources':
        for item in value.split(','):
            what, _, amount = item.partition(':')
            yield Demand(Kind.RESOURCE, what, int(amount), group)
    elif kind == 'required':
        yield from _traits(value, group)
    else:
        yield Demand(Kind.AGGREGATES if kind == 'member_of' else Kind.HOST,
                     value, group=group)


def _traits(value: str, group: str) -> collections.abc.Iterator[Demand]:
    for item in value.split(','):
        if item.startswith('!'):
            yield Demand(Kind.FORBIDDEN_TRAIT, item[1:], group=group)
        else:
            yield Demand(Kind.TRAIT, item, group=group)


def _left(name: str, value: str, demand: Demand) -> str:
    """Return what is left of the value of a parameter."""
    found = list(_demands(name, value))
    if demand not in found:
        return value
    if demand.kind in (Kind.AGGREGATES, Kind.HOST):
        return ''
    return ','.join(item for item, one in zip(value.split(','), found)
                    if one != demand)


def _only_with_resources(pairs: _Pairs) -> str | None:
    groups = {name.removeprefix('resources') for name, _ in pairs
              if name.startswith('resources')}
    if not groups:
        return None
    kept = [(name, value) for name, value in pairs
            if (match := _NAMED.fullmatch(name)) is None
            or match[2] in groups]
    kept = [(name, _subtree(value, groups) if name == 'same_subtree'
             else value) for name, value in kept]
    if len(groups - {''}) < 2:
        kept = [pair for pair in kept if pair[0] != 'group_policy']
    return parse.urlencode(sorted(pair for pair in kept if pair[1]))


def _subtree(value: str, groups: set[str]) -> str:
    left = [name for name in value.split(',') if name in groups]
    return ','.join(left) if len(left) > 1 else ''
