# SPDX-License-Identifier: Apache-2.0

"""All servers that wait, in their order, and why each does."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing as ty

from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.wait.census import eyes
from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait.demand import kinds
from cell0_rebuild.wait.demand import queries
from cell0_rebuild.wait.demand import shapes
from cell0_rebuild.wait.demand import spec_key
from cell0_rebuild.wait.demand import why
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait import known
from cell0_rebuild.wait.memory import ledger as ledgers
from cell0_rebuild.wait import options
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

_REFUSALS = (
    values.Code.SCHEDULER, values.Code.QUOTA, values.Code.BROKEN_HOSTS,
    values.Code.BLOCKED, values.Code.AWAY)


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
    server: values.Waiting
    shape: str
    reason: values.Reason
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
    seen = eyes.Eyes(context, conf)
    census, now = seen.census(), timeutils.utcnow()
    waiting = candidates.within_limit(
        census.waiting, section.max_waiting_per_project, now)
    shares = {} if section.order == 'fifo' else {
        one: share(seen, one) for one in {
            server.project_id for server in waiting}}
    numbered = [
        (position, server) for position, server in _numbered(
            order.ordered(waiting, shares), now)
        if project_id in (None, server.project_id)]
    asked = _Asked(seen, context)
    cctxt = cells.in_cell0(context)
    for first in range(0, len(numbered), spec_key.PAGE):
        page = numbered[first:first + spec_key.PAGE]
        uuids = [server.uuid for _, server in page]
        alike = spec_key.find(context, uuids)
        told = notices.messages(cctxt, uuids)
        for position, server in page:
            try:
                kind = asked.kind(server.uuid, alike[server.uuid])
            except (shapes.NotBuried, KeyError):
                # It has gone on meanwhile.
                continue
            yield Row(
                position, server, _shape(kind),
                candidates.why_held(server, section, now) or _with_told(
                    asked.reason(kind), told.get(server.uuid, '')),
                census.held_for.get(server.uuid),
                pacing.rests_until(server, section, now))


def share(seen: eyes.Eyes, project_id: str) -> float:
    """Return the share of a project, a whole one if Placement fails for it.

    :raises NoPlacement: if it answers nothing.
    """
    try:
        return seen.share(project_id)
    except exceptions.NoPlacement:
        seen.check_placement()
        return ledgers.UNKNOWN_SHARE


def _with_told(reason: values.Reason, message: str) -> values.Reason:
    """Return why a server waits that there is room for.

    :param message: what the service has told its owner. Only the service
        knows who refuses the rebuild.
    """
    told = values.parsed(message)
    if reason.code is values.Code.ORDER and told and told.code in _REFUSALS:
        return told
    return reason


def _shape(kind: values.Kind | values.Reason) -> str:
    if isinstance(kind, values.Reason):
        return ''
    return ', '.join(
        str(demand) for demand in queries.demands(kind.shape.question.query)
        # All ask for that.
        if demand.what != why.DISABLED)


def _numbered(
    ordered: list[values.Waiting], now: datetime.datetime
) -> list[tuple[int | None, values.Waiting]]:
    """Return the servers with their positions, those without one last."""
    waiting = [server for server in ordered if server.deadline > now]
    expired = [server for server in ordered if server.deadline <= now]
    return [*enumerate(waiting, 1), *((None, server) for server in expired)]


class _Asked:
    """Builds and asks what is the same for many servers only once."""

    def __init__(self, seen: eyes.Eyes, context: ty.Any) -> None:
        self._eyes, self._context = seen, context
        self._kinds: dict[bytes, values.Kind | values.Reason] = {}
        self._answers = known.Answers()

    def kind(self, uuid: str, alike: bytes) -> values.Kind | values.Reason:
        """Return the kind of a server, or why that cannot be told.

        :param alike: the same for servers that ask for the same.
        :raises NotBuried: if the server is no longer buried.
        """
        if alike not in self._kinds:
            self._kinds[alike] = kinds.of(self._context, uuid)
        return self._kinds[alike]

    def reason(self, kind: values.Kind | values.Reason) -> values.Reason:
        """Return why a server has no host yet.

        :raises NoPlacement: if it does not answer.
        """
        if isinstance(kind, values.Reason):
            return kind
        question, group = kind.shape.question, kind.shape.group
        rooms, groups = self._answers.rooms, self._answers.groups
        if question not in rooms:
            try:
                rooms[question] = self._eyes.room(question)
            except exceptions.NoPlacement:
                self._eyes.check_placement()
                return texts.PLACEMENT_FAILS
        if not rooms[question]:
            return rooms[question].problem or texts.NO_HOST_HAS_ROOM
        if group is not None and group not in groups:
            groups.update(self._eyes.groups({group}))
        return (texts.ITS_TURN if self._answers.room_of(kind.shape)
                else texts.GROUP_HAS_NO_HOST)
