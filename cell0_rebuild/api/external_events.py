# SPDX-License-Identifier: Apache-2.0

"""Events of other services for a server that is on its way out of cell0.

Cinder sends one when it has written the image to a root volume. Nova fails on
a server that is in no cell, and the other events of the request are lost.
"""

from __future__ import annotations

import typing as ty

from nova import objects

from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def get_instances(
    wrapped: ty.Callable[..., dict[str, ty.Any]], controller: ty.Any,
    context: nova_context.RequestContext, instance_uuids: ty.Any,
    instance_mappings: ty.Any,
) -> dict[str, ty.Any]:
    """Wrap the events controller's look at the servers in their cells."""
    nowhere = {mapping.instance_uuid for mapping in instance_mappings
               if mapping.cell_mapping is None}
    # Others are servers that are being created: they are Nova's matter.
    ours = retained_db.among(context, nowhere) if nowhere else set()
    if not ours:
        return wrapped(context, instance_uuids, instance_mappings)
    found = wrapped(context, instance_uuids, [
        mapping for mapping in instance_mappings
        if mapping.instance_uuid not in ours])
    for uuid in ours:
        found[uuid] = objects.Instance(context, uuid=uuid, host=None)
    return found
