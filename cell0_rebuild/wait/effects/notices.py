# SPDX-License-Identifier: Apache-2.0

"""Tells owners why their servers wait, in the event lists of the servers.

Each server has one action, ``wait``. Its message begins with the code of the
reason why the server waits now. The message is written only when the code
changes. So nothing is written while nothing changes.
"""

from __future__ import annotations

import collections.abc
import itertools
import time
import typing as ty

from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import objects
from oslo_context import context as oslo_context
from oslo_utils import timeutils

from cell0_rebuild import db_errors
from cell0_rebuild import texts
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context

ACTION = 'wait'

# How many servers one statement reads.
_PAGE = 500

# So many are written in one sweep. A host that becomes free gives thousands
# of servers another reason at once, and the next sweep must not wait for them.
_MOST = 100

# Seconds. Then what was told is read again: another service, which has ended
# since, may have told something else.
_LIFE = 300.0


class Notices:
    """Publishes reasons, and remembers the codes that were published."""

    def __init__(
        self, context: nova_context.RequestContext,
        clock: collections.abc.Callable[[], float] = time.monotonic,
        *, at_once: bool = False,
    ) -> None:
        """Know nothing yet.

        :param context: an administrator's, targeted at cell0.
        :param clock: seconds that never go back.
        :param at_once: whether one sweep is enough to publish a new code: no
            other one follows.
        """
        self._context, self._clock = context, clock
        self._at_once = at_once
        self._published = times.Expiring[
            str, ty.Optional[values.Code]](_LIFE)
        self._changed: dict[str, values.Code] = {}

    def publish(
        self, reasons_of: collections.abc.Mapping[str, values.Reason],
        project_of: collections.abc.Callable[[str], str] = lambda uuid: '',
    ) -> int:
        """Publish why servers wait.

        A new code is published when two sweeps in a row have found it: turns
        and room come and go. The first code of a server is published at once,
        and so is any code if ``at_once``. What is too much for one sweep is
        published in the next ones.

        :param reasons_of: why each waits, by the UUID of the server.
        :param project_of: returns the project of a server. They have turns.
        :returns: how many messages were written.
        """
        self.load(reasons_of)
        changed = {uuid: reason.code for uuid, reason in reasons_of.items()
                   if reason.code is not self.published(uuid)}
        # Those come first whose reason has changed first.
        changed = {**{uuid: code for uuid, code in self._changed.items()
                      if changed.get(uuid) is code}, **changed}
        due = [uuid for uuid, code in changed.items()
               if self._at_once or self.published(uuid) is None
               or self._changed.get(uuid) is code]
        self._changed = changed
        written = (uuid for uuid in order.in_turns(due, project_of)
                   if self._write(uuid, reasons_of[uuid]))
        return sum(1 for _ in itertools.islice(written, _MOST))

    def published(self, uuid: str) -> values.Code | None:
        """Return the published code of a server that was loaded."""
        return self._published.get(uuid)

    def load(self, uuids: collections.abc.Collection[str]) -> None:
        """Read what was published of these servers; forget all others."""
        now = self._clock()
        self._published.keep(uuids)
        unknown = [uuid for uuid in uuids
                   if not self._published.is_good(uuid, now)]
        for first in range(0, len(unknown), _PAGE):
            page = unknown[first:first + _PAGE]
            told = messages(self._context, page)
            for uuid in page:
                self._published.put(uuid, _code(told.get(uuid, '')), now)

    def _write(self, uuid: str, reason: values.Reason) -> bool:
        former = self.published(uuid)
        written = tell(self._context, uuid, reason, lambda told: (
            _code(told) is former))
        if written:
            self._published.put(uuid, reason.code, self._clock())
        else:
            # Somebody may have told something else since.
            self._published.drop(uuid)
        return written


def tell(
    context: nova_context.RequestContext, uuid: str, reason: values.Reason,
    replaces: collections.abc.Callable[[str], bool] = lambda told: True,
) -> bool:
    """Tell an owner why a server waits, or that it waits no longer.

    :param context: an administrator's, targeted at cell0.
    :param replaces: tells whether what was told may be replaced.
    :returns: False if it is deleted or on its way, or cannot be written, or
        what was told stays.
    """
    with outages.skipped('The message', uuid):
        return bool(_write(
            context, uuid, texts.fitting(reason.message()), replaces))
    return False


def _code(message: str) -> values.Code | None:
    reason = values.parsed(message)
    return None if reason is None else reason.code


@main_db_api.pick_context_manager_reader
def messages(
    context: nova_context.RequestContext,
    uuids: collections.abc.Collection[str],
) -> dict[str, str]:
    """Return what was told, by the UUID of the server.

    :param context: an administrator's, targeted at cell0.
    """
    action = models.InstanceAction
    return {uuid: message or '' for uuid, message in context.session.query(
        action.instance_uuid, action.message).filter(
        action.action == ACTION, action.instance_uuid.in_(uuids),
    ).order_by(action.id)}


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _write(
    context: nova_context.RequestContext, uuid: str, message: str,
    replaces: collections.abc.Callable[[str], bool],
) -> bool:
    """Write the message of a server, unless it is deleted or on its way."""
    instance, action = models.Instance, models.InstanceAction
    # Two services at once make one action: the row of the server is locked.
    owner = context.session.query(
        instance.user_id, instance.project_id,
    ).filter_by(
        uuid=uuid, deleted=0, task_state=None,
    ).filter(instance.hidden.isnot(True)).with_for_update().first()
    if owner is None:
        return False
    # Two nodes of a cluster may each have made one.
    rows = context.session.query(action).filter_by(
        instance_uuid=uuid, action=ACTION).order_by(action.id).all()
    if not replaces(rows[-1].message or '' if rows else ''):
        return False
    for row in rows:
        row.message = message
    if not rows:
        now = timeutils.utcnow(with_timezone=True)
        # Nova sets updated_at with the first event, and finds by it what is
        # new. This action has no event.
        objects.InstanceAction(
            context, action=ACTION, instance_uuid=uuid, message=message,
            request_id=oslo_context.generate_request_id(),
            user_id=owner.user_id, project_id=owner.project_id,
            start_time=now, updated_at=now).create()
    return True
