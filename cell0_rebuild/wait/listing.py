# SPDX-License-Identifier: Apache-2.0

"""All servers that wait, in their order, and why each does."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing as ty

from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild.wait import eligibility
from cell0_rebuild.wait import hold_reasons
from cell0_rebuild.wait import notices
from cell0_rebuild.wait import options
from cell0_rebuild.wait import order
from cell0_rebuild.wait import probes
from cell0_rebuild.wait import project_limit
from cell0_rebuild.wait import queries
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import shares
from cell0_rebuild.wait import spec_key
from cell0_rebuild.wait import waiting_server as records
from cell0_rebuild.wait import why
from cell0_rebuild.wait import wish_options

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

_ROOM = reasons.Reason(
    reasons.Code.ORDER,
    'Placement has room. The server is tried when it is its turn.')

_REFUSALS = {code.value for code in (
    reasons.Code.SCHEDULER, reasons.Code.QUOTA, reasons.Code.BROKEN_HOSTS,
    reasons.Code.BLOCKED)}


@dataclasses.dataclass(frozen=True)
class Row:
    """A server that waits.

    :param position: from 1 on; None if its time is over.
    :param shape: what it asks Placement for, for people; empty if that cannot
        be told.
    :param reason: why it waits.
    :param note: why an operator holds it, or None.
    :param next_look: when it is tried again, if it was tried and rests; UTC,
        without a time zone.
    """

    position: int | None
    server: records.Waiting
    shape: str
    reason: reasons.Reason
    note: str | None
    next_look: datetime.datetime | None


def rows(
    context: nova_context.RequestContext, conf: cfg.ConfigOpts,
    project_id: str | None = None,
) -> collections.abc.Iterator[Row]:
    """Yield all servers that wait, the first first.

    :param context: an administrator's.
    :param conf: all options.
    :param project_id: of these servers only; their positions are among all.
    :raises NoPlacement: if it does not answer.
    """
    section = conf[options.GROUP.name]
    census = eligibility.take(context, wish_options.site(conf))
    now = timeutils.utcnow()
    waiting = project_limit.within(
        census.waiting, section.max_waiting_per_project, now)
    numbered = [
        (position, server) for position, server in _numbered(
            _ordered(context, section, waiting), now)
        if project_id in (None, server.project_id)]
    asked = _Asked(context)
    cctxt = cells.in_cell0(context)
    for first in range(0, len(numbered), spec_key.PAGE):
        page = numbered[first:first + spec_key.PAGE]
        uuids = [server.uuid for _, server in page]
        alike = spec_key.find(context, uuids)
        told = notices.messages(cctxt, uuids)
        for position, server in page:
            try:
                query = asked.query(server.uuid, alike[server.uuid])
            except (why.NotBuried, KeyError):
                # It has gone on meanwhile.
                continue
            until = hold_reasons.next_try(server, section)
            yield Row(
                position, server, _shape(query.text),
                hold_reasons.reason(server, section, now) or _with_told(
                    asked.reason(query), told.get(server.uuid, '')),
                census.held_for.get(server.uuid),
                until if until is not None and until > now else None)


def _with_told(reason: reasons.Reason, message: str) -> reasons.Reason:
    """Return why a server waits that there is room for.

    :param message: what the service has told its owner. Only the service
        knows who refuses the rebuild.
    """
    code, text = reasons.parsed(message)
    if reason.code is reasons.Code.ORDER and code in _REFUSALS:
        return reasons.Reason(reasons.Code(code), text)
    return reason


def _shape(query: str) -> str:
    return ', '.join(
        str(demand) for demand in queries.demands(query)
        # All ask for that.
        if demand.what != why.DISABLED)


def _ordered(
    context: nova_context.RequestContext, section: cfg.ConfigOpts.GroupAttr,
    waiting: list[records.Waiting],
) -> list[records.Waiting]:
    projects = {server.project_id for server in waiting}
    return order.ordered(section.order, waiting, (
        {} if section.order == 'fifo' else shares.shares(context, projects)))


def _numbered(
    ordered: list[records.Waiting], now: datetime.datetime
) -> list[tuple[int | None, records.Waiting]]:
    """Return the servers with their positions, those without one last."""
    waiting = [server for server in ordered if server.deadline > now]
    expired = [server for server in ordered if server.deadline <= now]
    return [*enumerate(waiting, 1), *((None, server) for server in expired)]


class _Query(ty.NamedTuple):
    """What a server asks Placement for, or why that cannot be told."""

    text: str = ''
    fallback: str | None = None
    problem: reasons.Reason | None = None


class _Asked:
    """Builds and asks what is the same for many servers only once."""

    def __init__(self, context: nova_context.RequestContext) -> None:
        self._context = context
        self._queries: dict[bytes, _Query] = {}
        self._reasons: dict[tuple[str, str | None], reasons.Reason] = {}

    def query(self, uuid: str, alike: bytes) -> _Query:
        """Return what a server asks for.

        :param alike: the same for servers that ask for the same.
        :raises NotBuried: if the server is no longer buried.
        """
        if alike not in self._queries:
            self._queries[alike] = self._built(uuid)
        return self._queries[alike]

    def reason(self, query: _Query) -> reasons.Reason:
        """Return why it is not met yet.

        :raises NoPlacement: if it does not answer.
        """
        if query.problem:
            return query.problem
        key = query.text, query.fallback
        if key not in self._reasons:
            room = probes.with_fallback(
                self._context, queries.limited(query.text, 1), query.fallback)
            self._reasons[key] = _ROOM if room else reasons.Reason(
                reasons.Code.CAPACITY, room.problem)
        return self._reasons[key]

    def _built(self, uuid: str) -> _Query:
        asked = why.asked(self._context, uuid)
        if isinstance(asked, reasons.Reason):
            return _Query(problem=asked)
        first, fallback = asked.queries
        return _Query(queries.canonical(first),
                      fallback and queries.canonical(fallback))
