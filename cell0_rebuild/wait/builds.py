# SPDX-License-Identifier: Apache-2.0

"""How builds on hosts end, read from the cells.

A service that has just started, or works beside another one, needs to know
how builds end whose rebuilds it did not request.
"""

from __future__ import annotations

import contextlib
import datetime

from nova.compute import instance_actions
from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova.db.main import models
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild.wait import down_cells
from cell0_rebuild.wait import rebuild_state
from cell0_rebuild.wait import values

# Of a build on a host. The rebuild of a server that has a host has another.
_EVENT = 'compute__do_build_and_run_instance'


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
    # This loads all of CELLS.
    cells.cell0(context)
    all_builds: list[values.Build] = []
    for cell in nova_context.CELLS:
        if cell.is_cell0():
            continue
        with contextlib.suppress(down_cells.CellDown), down.looking(cell):
            cctxt = cells.targeted(context, cell)
            rebuilt = _rebuilt(cctxt, begin)
            all_builds += [*_landed(cctxt, begin, [
                build for build in rebuilt
                if build.state is values.State.FAILED_ON_HOST]), *rebuilt]
    return all_builds


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
        event.event == _EVENT, event.start_time >= begin,
    ).order_by(event.start_time, event.id)
    found: dict[str, values.Build] = {}
    for row in rows:
        # One that fails on a host may be built on another one.
        state, former = rebuild_state.in_cell(row), found.get(row.uuid)
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
