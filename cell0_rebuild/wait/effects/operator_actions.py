# SPDX-License-Identifier: Apache-2.0

"""What an operator decides about servers that wait."""

from __future__ import annotations

import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import exception
from oslo_utils import timeutils

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import location
from cell0_rebuild import objects as our_objects
from cell0_rebuild.wait.census import eligibility
from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait.effects import shown_status
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import wishes

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class Refused(Exception):
    """Nothing was changed; the text says why."""


class Unknown(Refused):
    """Nothing can be decided: the RequestSpec of the server is unusable."""


def decide(
    context: nova_context.RequestContext, instance_uuid: str, **entries: ty.Any
) -> None:
    """Change what has been decided about a server.

    A rebuild that is being requested at the same moment is refused, as if
    its owner had changed the server. One that is accepted goes on, and
    nothing is changed here.

    :param entries: the fields of :class:`operator_decisions.Decision` that
        change.
    :raises Refused: if the server does not rest in cell0, or its RequestSpec
        has no readable section of this package.
    """
    try:
        _decide(context, instance_uuid, entries)
    except exception.RequestSpecNotFound as error:
        raise Unknown(
            f'Server {instance_uuid} has no request spec.') from error
    except exceptions.Unreadable as error:
        raise Unknown(str(error)) from error
    except (ValueError, AttributeError) as error:
        raise Unknown(
            f'The request spec of server {instance_uuid} is damaged.'
        ) from error
    cctxt = cells.in_cell0(context)
    if entries.get('held') and notices.messages(cctxt, [instance_uuid]):
        notices.tell(cctxt, instance_uuid, texts.HELD)


def end(context: nova_context.RequestContext, instance_uuid: str) -> None:
    """Have a server wait no longer, and show it as ERROR.

    :raises Refused: likewise, but not if only the section was lost and the
        server was shown as BUILD.
    """
    cctxt = cells.in_cell0(context)
    try:
        decide(context, instance_uuid, ended=True)
    except Unknown:
        if not shown_status.show_error(cctxt, instance_uuid):
            raise
    else:
        shown_status.show_error(cctxt, instance_uuid)
    notices.tell(cctxt, instance_uuid, texts.ENDED)


def all_waiting(
    context: nova_context.RequestContext, site: wishes.Site
) -> dict[str, bool]:
    """Return all servers whose waiting can be ended.

    Also those that are shown as BUILD although their time is over, or the
    options say that they do not wait.

    :returns: whether each is shown as BUILD, by its UUID.
    """
    census, now = eligibility.take(context, site), timeutils.utcnow()
    waiting = [server.uuid for server in census.waiting
               if server.deadline > now]
    return {uuid: uuid in census.shown for uuid in (
        *waiting, *sorted(census.shown | census.unreadable))}


@db_errors.retried
@api_db_api.context_manager.writer
def _decide(
    context: nova_context.RequestContext, instance_uuid: str,
    changes: dict[str, ty.Any],
) -> None:
    # Each move writes this row first. So nobody begins one meanwhile.
    context.session.query(api_models.InstanceMapping.id).filter_by(
        instance_uuid=instance_uuid).with_for_update().first()
    _check_rests(context, instance_uuid)

    def changed(section: ty.Any) -> dict[str, ty.Any]:
        if section is None:
            raise Unknown(
                f'Server {instance_uuid} was buried by a nova-conductor '
                f'without cell0-rebuild. It cannot be rebuilt, and does not '
                f'wait.')
        return operator_decisions.changed(section, changes)

    our_objects.change(context, instance_uuid, changed)


def _check_rests(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    place = location.place(context, instance_uuid)
    if place is None or place.is_deleted:
        raise Refused(f'There is no server {instance_uuid}.')
    if place.build_request_id is not None:
        raise Refused(
            f'Server {instance_uuid} is on its way: it is being built. Look '
            f'at it again when it is ACTIVE or ERROR.')
    if not place.in_cell0:
        raise Refused(
            f'Server {instance_uuid} is not in cell0: it has a host, or had '
            f'one.')
