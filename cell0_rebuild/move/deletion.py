# SPDX-License-Identifier: Apache-2.0

"""A delete of a server in cell0 during the hand-over to a real cell.

The request deletes only the row in cell0, unless its nova-api has this package
and lives long enough to look again.
"""

from __future__ import annotations

import contextlib
import typing as ty

from nova.compute import api as nova_compute_api
from nova import exception
from nova import objects
from oslo_context import context as oslo_context
from oslo_log import log as logging

from cell0_rebuild import cells

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)


def complete(
    context: nova_context.RequestContext, instance_uuid: str,
    cell: objects.CellMapping,
) -> None:
    """Delete the server where it is now, as ``API.delete`` does.

    :param context: of the rebuild or of a recovery. nova-api has already
        decided that the server may be deleted, locked or not.
    :param cell: the real cell that the server is in.
    """
    cctxt = cells.targeted(context.elevated(), cell)
    # A compute may be at work for that of the rebuild, and finds its action
    # by it.
    cctxt.request_id = oslo_context.generate_request_id()
    with contextlib.suppress(exception.InstanceNotFound):
        instance = objects.Instance.get_by_uuid(cctxt, instance_uuid)
        LOG.warning('The server was deleted in cell0 while it was handed over '
                    'to a cell; it is deleted there as well.',
                    instance=instance)
        nova_compute_api.API().delete(cctxt, instance)
