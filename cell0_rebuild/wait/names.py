# SPDX-License-Identifier: Apache-2.0

"""The servers in cell0 that have a name."""

from __future__ import annotations

from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova.db.main import models

from cell0_rebuild import cells


def uuids(name: str, project_id: str) -> list[str]:
    """Return the UUIDs of the servers of a project that have a name."""
    return list(_uuids(
        cells.in_cell0(nova_context.get_admin_context()), name, project_id))


@main_db_api.pick_context_manager_reader
def _uuids(
    context: nova_context.RequestContext, name: str, project_id: str
) -> list[str]:
    model = models.Instance
    return [uuid for uuid, in context.session.query(model.uuid).filter_by(
        display_name=name, project_id=project_id, deleted=0,
    ).filter(model.hidden.isnot(True)).order_by(model.id)]
