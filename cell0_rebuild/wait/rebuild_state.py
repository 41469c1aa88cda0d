# SPDX-License-Identifier: Apache-2.0

"""What has become of a server whose rebuild was accepted."""

from __future__ import annotations

import typing as ty

from nova.compute import task_states
from nova.compute import vm_states
from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild.move import location
from cell0_rebuild.wait import down_cells
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    import sqlalchemy as sa


def of(
    context: nova_context.RequestContext, uuid: str, down: down_cells.DownCells
) -> values.State:
    """Tell where a server is; one whose cell is away is building.

    :param context: an administrator's.
    :param down: the cells that are away; changed.
    """
    place = location.place(context, uuid)
    if place is None or place.deleted or place.is_abandoned:
        return values.State.GONE
    if place.build_request_id is not None:
        return values.State.SENT
    if place.in_cell0:
        return values.State.BURIED
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
    return in_cell(instance)


def in_cell(instance: objects.Instance | sa.engine.Row) -> values.State:
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
