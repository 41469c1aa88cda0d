# SPDX-License-Identifier: Apache-2.0

"""Where servers are whose rebuild was accepted, and how builds end.

A service that has just started, or works beside another one, needs to know
how builds end whose rebuilds it did not request.
"""

from __future__ import annotations

import datetime
import typing as ty

from nova.compute import instance_actions
from nova.compute import task_states
from nova.compute import vm_states
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import exception
from nova import objects
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild.move import location
from cell0_rebuild.move.recovery import mend
from cell0_rebuild import nova_internals
from cell0_rebuild.wait.census import down_cells
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def state_of(
    context: nova_context.RequestContext, uuid: str, down: down_cells.DownCells
) -> values.State:
    """Tell where a server is whose rebuild was accepted.

    One whose cell is away is building.

    :param context: an administrator's.
    :param down: the cells that are away; changed.
    """
    place = location.place(context, uuid)
    if place is None or place.deleted or place.is_abandoned:
        return values.State.GONE
    if place.build_request_id is not None:
        return values.State.SENT
    if place.in_cell0:
        is_recovered = _is_recovered(cells.in_cell0(context), uuid)
        return (values.State.INTERRUPTED if is_recovered
                else values.State.BURIED)
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(context, uuid)
        with down.looking(mapping.cell_mapping):
            instance = objects.Instance.get_by_uuid(
                cells.targeted(context, mapping.cell_mapping), uuid,
                expected_attrs=[])
    except down_cells.CellDown:
        return values.State.BUILDING
    except (exception.InstanceMappingNotFound, exception.InstanceNotFound):
        return values.State.GONE
    return _in_cell(instance)


@main_db_api.pick_context_manager_reader
def _is_recovered(context: nova_context.RequestContext, uuid: str) -> bool:
    """Tell whether an operator has brought a server back to cell0.

    :param context: targeted at cell0.
    """
    action, event = models.InstanceAction, models.InstanceActionEvent
    newest = context.session.query(event.event).join(
        action, event.action_id == action.id,
    ).filter(
        action.instance_uuid == uuid,
        action.action == instance_actions.REBUILD,
    ).order_by(event.id.desc()).first()
    return newest is not None and newest.event == mend.EVENT


def _in_cell(instance: objects.Instance | sa.engine.Row) -> values.State:
    """Tell where a server is that is in another cell than cell0.

    :param instance: with ``launched_at``, ``vm_state`` and ``task_state``.
    """
    if instance.launched_at is not None:
        return values.State.LANDED
    if instance.vm_state == vm_states.BUILDING:
        return (values.State.SPAWNING
                if instance.task_state == task_states.SPAWNING
                else values.State.BUILDING)
    return values.State.FAILED_ON_HOST


def since(
    context: nova_context.RequestContext, begin: datetime.datetime,
    down: down_cells.DownCells,
) -> list[values.Build]:
    """Return all builds of rebuilt servers that exist.

    Where one has failed, also those of others that have landed there since.
    It takes one statement for each cell, and one more where builds failed. A
    cell whose database is away tells nothing.

    :param context: an administrator's.
    :param begin: of the first build; UTC, without a time zone.
    :param down: the cells that are away; changed.
    """
    def read(cctxt: nova_context.RequestContext) -> list[values.Build]:
        rebuilt = _rebuilt(cctxt, begin)
        return [*_landed(cctxt, begin, [
            build for build in rebuilt
            if build.state is values.State.FAILED_ON_HOST]), *rebuilt]
    return down.in_each(context, read)


@main_db_api.pick_context_manager_reader
def _rebuilt(
    context: nova_context.RequestContext, begin: datetime.datetime
) -> list[values.Build]:
    instance, action = models.Instance, models.InstanceAction
    event = models.InstanceActionEvent
    rows = context.session.query(
        instance.uuid, instance.project_id, instance.launched_at,
        instance.vm_state, instance.task_state, event.host, sa.func.coalesce(
            event.finish_time, event.start_time).label('at'),
    ).join(
        action, action.instance_uuid == instance.uuid,
    ).join(
        event, event.action_id == action.id,
    ).filter(
        # It has an index, and a build changes it.
        instance.updated_at >= begin, instance.deleted == 0,
        action.action == instance_actions.REBUILD,
        event.event == nova_internals.BUILD_EVENT, event.start_time >= begin,
    ).order_by(event.start_time, event.id)
    found: dict[str, values.Build] = {}
    for row in rows:
        # One that fails on a host may be built on another one.
        state, former = _in_cell(row), found.get(row.uuid)
        hosts = {host for host in [row.host] if host}
        if former and state is values.State.FAILED_ON_HOST:
            hosts |= former.hosts
        found[row.uuid] = values.Build(
            row.uuid, row.project_id, state, row.at, frozenset(hosts))
    return [*found.values()]


@main_db_api.pick_context_manager_reader
def _landed(
    context: nova_context.RequestContext, begin: datetime.datetime,
    failed: list[values.Build],
) -> list[values.Build]:
    """Return who has landed on the hosts of builds that failed."""
    hosts = {host for build in failed for host in build.hosts}
    if not hosts:
        return []
    instance = models.Instance
    rows = context.session.query(
        instance.uuid, instance.project_id, instance.launched_at,
        instance.host,
    ).filter(
        instance.updated_at >= begin, instance.host.in_(hosts),
        instance.launched_at >= min(build.at for build in failed))
    return [values.Build(
        row.uuid, row.project_id, values.State.LANDED, row.launched_at,
        frozenset([row.host]), waited=False) for row in rows]
