# SPDX-License-Identifier: Apache-2.0

"""Which volumes go with a server that its owner deletes on its way.

Nova deletes those that the build request says. The owner changes that in
cell0, or in the real cell that the server is mapped to, and not there.
"""

from __future__ import annotations

import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import objects
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_serialization import jsonutils

from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild.move import attempt_record
from cell0_rebuild.move import late_changes

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

_Flags = ty.Dict[str, bool]


def settle(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    """Give the build request what the owner has said last of each volume.

    If that cannot be read, no volume goes.

    :param context: of the delete; targeted at the cell of the server if the
        instance was read from there.
    :param instance: as it was read for the delete.
    """
    uuid = instance.uuid
    asked = _asked(context, uuid)
    if not asked:
        return
    try:
        said = _of_rows(cells.in_cell0(context), uuid)
        if 'id' in instance:
            # It came there with what is on the build request.
            said.update(late_changes.changes(asked, _of_rows(context, uuid)))
    except db_exc.DBError as error:
        db_errors.without_values(error)
        LOG.warning('The server is deleted, and its volumes are kept: a '
                    'database does not tell which of them are to be deleted: '
                    '%s', error, instance_uuid=uuid)
        said = dict.fromkeys(asked, False)
    if late_changes.changes(asked, said):
        _set(context, uuid, said)


def _of_rows(
    context: nova_context.RequestContext, instance_uuid: str
) -> _Flags:
    return {bdm.uuid: bdm.delete_on_termination for bdm in
            objects.BlockDeviceMappingList.get_by_instance_uuid(
                context, instance_uuid)}


@api_db_api.context_manager.reader
def _asked(
    context: nova_context.RequestContext, instance_uuid: str
) -> _Flags:
    """Return what the build request of an attempt says of each volume."""
    model = api_models.BuildRequest
    stored = context.session.query(model.block_device_mappings).filter(
        model.instance_uuid == instance_uuid,
        model.instance.contains(attempt_record.KEY)).scalar()
    return {} if stored is None else {
        bdm['uuid']: bool(bdm['delete_on_termination'])
        for bdm in _bdms(jsonutils.loads(stored))
        if bdm['destination_type'] == 'volume'}


@db_errors.retried
@api_db_api.context_manager.writer
def _set(
    context: nova_context.RequestContext, instance_uuid: str, said: _Flags
) -> None:
    row = context.session.query(api_models.BuildRequest).filter_by(
        instance_uuid=instance_uuid).with_for_update().first()
    if row is None:
        return
    stored = jsonutils.loads(row.block_device_mappings)
    for bdm in _bdms(stored):
        bdm['delete_on_termination'] = said.get(
            bdm['uuid'], bdm['delete_on_termination'])
    row.update({'block_device_mappings': jsonutils.dumps(stored)})


def _bdms(stored: dict[str, ty.Any]) -> list[dict[str, ty.Any]]:
    return [bdm['nova_object.data']
            for bdm in stored['nova_object.data']['objects']]
