# SPDX-License-Identifier: Apache-2.0

"""The event list of a server that moves between cells.

Nova keeps instance actions in the cell of the server and deletes them with
it.
"""

from __future__ import annotations

import itertools
import typing as ty

from nova.compute import instance_actions
from nova.db.main import api as main_db_api
from nova.db.main import models

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def copy(
    source: nova_context.RequestContext,
    destination: nova_context.RequestContext, instance_uuid: str,
) -> None:
    """Copy actions and their events from one cell to another.

    Doing it again copies nothing twice.

    :param source: a context targeted at the cell to copy from.
    :param destination: one targeted at the cell to copy to.
    """
    _insert(destination, instance_uuid, _read(source, instance_uuid))


@main_db_api.pick_context_manager_writer
def name_rebuild(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Give the action that Nova started for this request its right name.

    :param context: of the request, targeted at the cell of the server.
    """
    context.session.query(models.InstanceAction).filter_by(
        instance_uuid=instance_uuid, request_id=context.request_id,
        action=instance_actions.CREATE,
    ).update({'action': instance_actions.REBUILD})


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


@main_db_api.pick_context_manager_writer
def _insert(
    context: nova_context.RequestContext, instance_uuid: str,
    actions: list[_Action],
) -> None:
    there = {(action.request_id, action.action, action.start_time)
             for action in context.session.query(
                 models.InstanceAction).filter_by(
                 instance_uuid=instance_uuid)}
    for values, events in actions:
        if (values['request_id'], values['action'],
                values['start_time']) in there:
            continue
        action = models.InstanceAction(**values)
        action.save(context.session)
        for event in events:
            models.InstanceActionEvent(
                **dict(event, action_id=action.id)).save(context.session)


def _values(row: ty.Any) -> dict[str, ty.Any]:
    return {column.name: getattr(row, column.name)
            for column in row.__table__.columns if column.name != 'id'}
