# SPDX-License-Identifier: Apache-2.0

"""The event list of a server that moves between cells.

Nova keeps instance actions in the cell of the server and deletes them with
it. Its build names the action of the request ``create``, also in a rebuild.
"""

from __future__ import annotations

import itertools
import typing as ty

from nova.compute import instance_actions
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import exception
from oslo_db import exception as db_exc
import sqlalchemy.exc

from cell0_rebuild import db_errors

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def bring(
    source: nova_context.RequestContext,
    destination: nova_context.RequestContext, instance_uuid: str,
) -> None:
    """Copy the history of a server from cell0 to the cell it is built in.

    The action of the request comes last there, as ``rebuild``: of two actions
    of the same second the one with the higher ID is listed first.

    :param source: a context of the request, targeted at cell0.
    :param destination: one targeted at the cell.
    """
    _insert(destination, instance_uuid, _read(source, instance_uuid))


@db_errors.retried
@main_db_api.pick_context_manager_writer
def record_failure(
    context: nova_context.RequestContext, instance_uuid: str,
    record: ty.Callable[[nova_context.RequestContext], None],
) -> None:
    """Record how the rebuild of the request failed, by one transaction.

    :param context: of the request, targeted at cell0.
    :param record: starts an action by Nova's means, and finishes its event.
    """
    action = context.session.query(models.InstanceAction).filter_by(
        instance_uuid=instance_uuid, request_id=context.request_id)
    if action.first() is not None:
        # The answer of a commit was lost.
        return
    try:
        record(context)
    except (exception.InstanceActionNotFound,
            sqlalchemy.exc.PendingRollbackError) as error:
        # After a deadlock Nova tries an event again by itself, when its
        # action has been rolled back.
        raise db_exc.DBDeadlock(error) from error
    action.update({'action': instance_actions.REBUILD})


_Action = ty.Tuple[ty.Dict[str, ty.Any], ty.List[ty.Dict[str, ty.Any]]]


@main_db_api.pick_context_manager_reader
def _read(
    context: nova_context.RequestContext, instance_uuid: str
) -> list[_Action]:
    action, event = models.InstanceAction, models.InstanceActionEvent
    # An action without events is there, too.
    rows = context.session.query(action, event).outerjoin(
        event, event.action_id == action.id,
    ).filter(action.instance_uuid == instance_uuid).order_by(
        action.id, event.id)
    return [
        (_values(found), [_values(event) for _, event in group if event])
        for found, group in itertools.groupby(rows, lambda row: row[0])]


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _insert(
    context: nova_context.RequestContext, instance_uuid: str,
    history: list[_Action],
) -> None:
    started = context.session.query(models.InstanceAction).filter_by(
        instance_uuid=instance_uuid, request_id=context.request_id).all()
    # A compute finds it by the request, and its times stay.
    rebuild: list[_Action] = [
        (dict(_values(action), action=instance_actions.REBUILD), [])
        for action in started]
    for action in started:
        # By its ID: others insert theirs meanwhile.
        context.session.delete(action)
    for values, events in [*history, *rebuild]:
        action = models.InstanceAction(**values)
        action.save(context.session)
        for event in events:
            models.InstanceActionEvent(
                **dict(event, action_id=action.id)).save(context.session)


def _values(row: ty.Any) -> dict[str, ty.Any]:
    return {column.name: getattr(row, column.name)
            for column in row.__table__.columns if column.name != 'id'}
