# SPDX-License-Identifier: Apache-2.0

"""What tells that a compute has had a server which is on no host.

Nova takes the host off a server whose build has failed. The real cell then
shows more than cell0, from which the server came: a volume that the compute
has made, or a build that has ended. If the server is to be tried on another
host, it has the task_state that it had before any build.
"""

from __future__ import annotations

import typing as ty

from nova.compute import task_states
from nova.db.main import api as main_db_api
from nova.db.main import models

if ty.TYPE_CHECKING:
    from nova import context as nova_context

# The event of a build on a compute.
_EVENT = 'compute__do_build_and_run_instance'


class Builds(ty.NamedTuple):
    """What is known of the builds of a server in a cell.

    :param ended: how many builds have ended, well or not.
    :param volumes: the IDs of those that it has.
    """

    task_state: str | None
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
        session.query(models.Instance.task_state).filter_by(
            uuid=instance_uuid).scalar(),
        session.query(event.id).join(
            action, event.action_id == action.id,
        ).filter(action.instance_uuid == instance_uuid, event.event == _EVENT,
                 event.finish_time.isnot(None)).count(),
        frozenset(row.volume_id for row in session.query(
            volume.volume_id).filter(
            volume.instance_uuid == instance_uuid, volume.deleted == 0,
            volume.volume_id.isnot(None))))


def was_with_compute(there: Builds, in_cell0: Builds) -> bool:
    """Tell whether a compute has had a server that is on no host.

    :param there: in the real cell, which has the history of cell0, too.
    """
    return (
        (there.task_state != task_states.SCHEDULING
         and there.ended > in_cell0.ended)
        or not there.volumes <= in_cell0.volumes)
