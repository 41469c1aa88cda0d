# SPDX-License-Identifier: Apache-2.0

"""The servers that could be sent, in queues, and why the others wait."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import typing as ty

from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait.memory import waste
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from oslo_config import cfg

# By the project and the kind.
Groups = dict[tuple[str, values.Kind], list[values.Waiting]]


@dataclasses.dataclass(frozen=True, eq=False)
class Queue:
    """Servers of one kind and project, the first first."""

    project_id: str
    kind: values.Kind
    servers: list[values.Waiting]


def why_held(
    server: values.Waiting, section: cfg.ConfigOpts.GroupAttr,
    now: datetime.datetime,
) -> values.Reason | None:
    """Return why a server is not tried, whether there is room or not.

    :param section: the options.
    """
    if server.deadline <= now:
        return texts.EXPIRED
    if server.held:
        return texts.HELD
    if server.locked:
        return texts.LOCKED
    if section.pause:
        return texts.PAUSED
    return None if pacing.rests_until(
        server, section, now) is None else texts.FOUND_NO_HOST


def within_limit(
    waiting: collections.abc.Iterable[values.Waiting], most: int,
    now: datetime.datetime,
) -> list[values.Waiting]:
    """Return the servers that wait; the others do not.

    The oldest of a project do, whatever their owner or an operator wishes: so
    nobody who waits is pushed out. Those whose time is over are all returned,
    and take nobody's place.

    :param most: how many of a project; 0 is no limit.
    """
    count: collections.Counter[str] = collections.Counter()
    within = []
    for server in sorted(
            waiting, key=lambda server: (server.created_at, server.uuid)):
        count[server.project_id] += server.deadline > now
        if (not most or server.deadline <= now
                or count[server.project_id] <= most):
            within.append(server)
    return within


def ready(
    waiting: collections.abc.Iterable[values.Waiting],
    ledger: ledgers.Ledger, section: cfg.ConfigOpts.GroupAttr,
    now: values.Now,
) -> tuple[list[values.Waiting], dict[str, values.Reason]]:
    """Return the servers that could be sent, and why the others wait."""
    could: list[values.Waiting] = []
    reasons: dict[str, values.Reason] = {}
    for server in waiting:
        reason = (why_held(server, section, now.utc)
                  or ledger.why_rests(server, now.seconds))
        if reason is not None:
            reasons[server.uuid] = reason
        elif server.uuid not in ledger.on_their_way:
            could.append(server)
    return could, reasons


def grouped(
    servers: collections.abc.Iterable[values.Waiting],
    kinds: collections.abc.Mapping[str, values.Kind],
) -> Groups:
    """Return the servers by project and kind; who has no kind is left out."""
    found: Groups = {}
    for server in servers:
        kind = kinds.get(server.uuid)
        if kind is not None:
            found.setdefault((server.project_id, kind), []).append(server)
    return found


def peers(groups: Groups) -> waste.Groups:
    """Return who of a project takes turns with each other.

    A project that is new comes before those on which something was wasted:
    else "make simulate" shows that small ones wait for those that flood.
    """
    found: waste.Groups = {}
    for (project_id, kind), servers in groups.items():
        found[project_id] = found.get(project_id, frozenset()) | {kind}
        found[project_id, kind] = {server.uuid for server in servers}
    return found


def queues(
    groups: Groups, ledger: ledgers.Ledger, now: values.Now
) -> list[Queue]:
    """Return a queue of each group."""
    return [
        Queue(project_id, kind, sorted(alike, key=lambda server: (
            -server.priority, ledger.waste.of(server.uuid, now.seconds),
            ledger.rests.times(server.uuid), order.turn(server))))
        for (project_id, kind), alike in groups.items()]
