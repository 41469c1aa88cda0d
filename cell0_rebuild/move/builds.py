# SPDX-License-Identifier: Apache-2.0

"""What tells that a server on no host cannot leave its cell any more.

Nova takes the host off a server whose build has failed. The compute has given
up the attachments of its volumes then, or made volumes for it, of which cell0
does not know. Without volumes it is as it was before the build, as for Nova,
which has it tried on another host.
"""

from __future__ import annotations

import typing as ty

from nova.db.main import api as main_db_api
from nova.db.main import models

from cell0_rebuild import nova_internals

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class Builds(ty.NamedTuple):
    """What is known of the builds of a server in a cell.

    :param ended: how many builds have ended, well or not.
    :param volumes: the IDs of those that it has.
    """

    ended: int
    volumes: frozenset[str]


@main_db_api.pick_context_manager_reader
def read(context: nova_context.RequestContext, instance_uuid: str) -> Builds:
    """Return what a cell knows of the builds of a server.

    :param context: targeted at the cell.
    """
    action, event = models.InstanceAction, models.InstanceActionEvent
    volume = models.BlockDeviceMapping
    session = context.session
    return Builds(
        session.query(event.id).join(
            action, event.action_id == action.id,
        ).filter(action.instance_uuid == instance_uuid,
                 event.event == nova_internals.BUILD_EVENT,
                 event.finish_time.isnot(None)).count(),
        frozenset(row.volume_id for row in session.query(
            volume.volume_id).filter(
            volume.instance_uuid == instance_uuid, volume.deleted == 0,
            volume.volume_id.isnot(None))))


def has_to_stay(there: Builds, in_cell0: Builds) -> bool:
    """Tell whether a server that is on no host has to stay in its cell.

    :param there: in the real cell, which has the history of cell0, too.
    """
    return bool(there.volumes) and (
        there.ended > in_cell0.ended
        or not there.volumes <= in_cell0.volumes)
