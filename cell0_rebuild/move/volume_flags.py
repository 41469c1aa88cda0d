# SPDX-License-Identifier: Apache-2.0

"""Which volumes go with a server that its owner deletes on its way.

Nova deletes those that the build request says. The owner changes that in
cell0 or, of a server in no cell, in [database], and not there.
"""

from __future__ import annotations

import contextlib
import typing as ty

from nova import exception
from nova import objects
from oslo_db import exception as db_exc
from oslo_log import log as logging
from sqlalchemy.orm import exc as orm_exc

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild.move import journal
from cell0_rebuild.move import late_changes

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

_Flags = ty.Dict[str, bool]


def settle(context: nova_context.RequestContext, uuid: str) -> None:
    """Give the build request what the owner has said last of each volume.

    If that cannot be read, no volume goes.

    :param uuid: of the server that is deleted.
    """
    try:
        build_request = objects.BuildRequest.get_by_instance_uuid(
            context, uuid)
    except exception.BuildRequestNotFound:
        return
    volumes = [bdm for bdm in build_request.block_device_mappings
               if bdm.is_volume]
    if not volumes or not journal.is_marked(build_request.instance):
        return
    asked = {bdm.uuid: bdm.delete_on_termination for bdm in volumes}
    said = _said(context, uuid, asked)
    if not late_changes.changes(asked, said):
        return
    for bdm in volumes:
        bdm.delete_on_termination = said.get(bdm.uuid, asked[bdm.uuid])
    # If it has just gone, the delete finds that out, too. SQLAlchemy says so
    # if the UPDATE had to wait for that.
    with contextlib.suppress(
            exception.BuildRequestNotFound, orm_exc.StaleDataError):
        build_request.save()


def _said(
    context: nova_context.RequestContext, uuid: str, asked: _Flags
) -> _Flags:
    """Return what the owner has said last.

    What is in [database] counts only where a volume is to stay: it may be of
    an earlier attempt.

    :param asked: what the build request says of each volume.
    """
    try:
        said = _flags(cells.in_cell0(context), uuid)
        of_nova = _flags(cells.targeted(context, None), uuid)
        return {**said, **{bdm: False for bdm, goes in of_nova.items()
                           if asked.get(bdm) and not goes}}
    except db_exc.DBError as error:
        db_errors.without_values(error)
        LOG.warning('The server is deleted, and its volumes are kept: a '
                    'database does not tell which of them are to be deleted: '
                    '%s', error, instance_uuid=uuid)
        return dict.fromkeys(asked, False)


def _flags(context: nova_context.RequestContext, uuid: str) -> _Flags:
    return {bdm.uuid: bdm.delete_on_termination for bdm in
            objects.BlockDeviceMappingList.get_by_instance_uuid(context, uuid)}
