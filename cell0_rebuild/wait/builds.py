# SPDX-License-Identifier: Apache-2.0

"""What the cells tell of the builds of rebuilt servers.

A service that starts anew, or works beside another one, knows so what hosts
have done with the servers that it did not send itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import typing as ty

from nova.compute import instance_actions
from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova.db.main import models
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild.wait import dead_cells
from cell0_rebuild.wait import rebuild_state

# Of a build on a host. The rebuild of a server that has a host has another.
_EVENT = 'compute__do_build_and_run_instance'


@dataclasses.dataclass(frozen=True)
class Build:
    """The build of a rebuilt server on a host.

    :param at: when it ended, or began if it has not; UTC, without a time
        zone.
    """

    uuid: str
    project_id: str
    state: rebuild_state.State
    at: datetime.datetime


def since(
    context: ty.Any, begin: datetime.datetime, dead: dead_cells.DeadCells
) -> list[Build]:
    """Return all builds of servers that exist, the oldest first.

    It takes one statement for each cell. A cell whose database is away tells
    nothing.

    :param context: an administrator's.
    :param begin: of the first build; UTC, without a time zone.
    :param dead: the cells that are away; changed.
    """
    # So are all of CELLS loaded.
    cells.cell0(context)
    found: list[Build] = []
    for cell in nova_context.CELLS:
        if cell.is_cell0():
            continue
        with contextlib.suppress(dead_cells.Dead), dead.looking(cell):
            found += _in_cell(cells.targeted(context, cell), begin)
    return sorted(found, key=lambda build: (build.at, build.uuid))


@main_db_api.pick_context_manager_reader
def _in_cell(context: ty.Any, begin: datetime.datetime) -> list[Build]:
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
    return [Build(row.uuid, row.project_id, rebuild_state.in_cell(row), row.at)
            for row in rows]
