# SPDX-License-Identifier: Apache-2.0

"""The databases of the cells: their names, and contexts for them."""

from __future__ import annotations

from nova import context as nova_context
from nova import exception
from nova import objects

# What people are told about the API database.
API = 'The API database'


def name(cell: objects.CellMapping) -> str:
    """Return what people are told about the database of a cell."""
    return f'Cell {cell.identity}'


def cell0(context: nova_context.RequestContext) -> objects.CellMapping:
    """Return the CellMapping of cell0.

    Nova keeps the cells as long as a process lives. It reads them before it
    builds anything, because it counts the quota in all of them.
    """
    nova_context.load_cells()
    for cell in nova_context.CELLS:
        if cell.is_cell0():
            return cell
    return objects.CellMapping.get_by_uuid(
        context, objects.CellMapping.CELL0_UUID)


def real(context: nova_context.RequestContext) -> list[objects.CellMapping]:
    """Return the CellMappings of all cells but cell0, as they are now."""
    return [cell for cell in objects.CellMappingList.get_all(context)
            if not cell.is_cell0()]


def selected(
    context: nova_context.RequestContext, selection: objects.Selection | None
) -> objects.CellMapping | None:
    """Return the cell of the host that the scheduler has selected, if any."""
    if selection is None:
        return None
    try:
        return objects.HostMapping.get_by_host(
            context, selection.service_host).cell_mapping
    except exception.HostMappingNotFound:
        return None


def is_cell0(context: nova_context.RequestContext) -> bool:
    """Tell whether a context is targeted at cell0."""
    return bool(context.cell_uuid == objects.CellMapping.CELL0_UUID)


def in_cell0(
    context: nova_context.RequestContext
) -> nova_context.RequestContext:
    """Return a copy of the context that is targeted at cell0."""
    return targeted(context, cell0(context))


def targeted(
    context: nova_context.RequestContext, cell: objects.CellMapping | None
) -> nova_context.RequestContext:
    """Return a copy of the context that is targeted at a cell.

    Unlike with ``nova.context.target_cell``, two of them can be used side by
    side, which a move between cells needs.

    :param cell: None is [database] of the process.
    """
    copy = nova_context.RequestContext.from_dict(context.to_dict())
    nova_context.set_target_cell(copy, cell)
    return copy
