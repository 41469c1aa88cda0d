# SPDX-License-Identifier: Apache-2.0

"""The builds of rebuilt servers, read from the cells.

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
    """Return all builds of servers that exist, the oldest first.

    It takes one statement for each cell. A cell whose database is away tells
    nothing.

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
            all_builds += _in_cell(cells.targeted(context, cell), begin)
    return sorted(all_builds, key=lambda build: (build.at, build.uuid))


@main_db_api.pick_context_manager_reader
def _in_cell(
    context: nova_context.RequestContext, begin: datetime.datetime
) -> list[values.Build]:
    instance, action = models.Instance, models.InstanceAction
    event = models.InstanceActionEvent
    rows = context.session.query(
        instance.uuid, instance.project_id, instance.launched_at,
        instance.vm_state, sa.func.max(sa.func.coalesce(
            event.finish_time, event.start_time)).label('at'),
    ).join(
        action, action.instance_uuid == instance.uuid,
    ).join(
        event, event.action_id == action.id,
    ).filter(
        # It has an index, and a build changes it.
        instance.updated_at >= begin, instance.deleted == 0,
        action.action == instance_actions.REBUILD,
        event.event == _EVENT, event.start_time >= begin,
    ).group_by(instance.uuid, instance.project_id, instance.launched_at,
               instance.vm_state)
    return [values.Build(
        row.uuid, row.project_id, rebuild_state.in_cell(row), row.at)
        for row in rows]
