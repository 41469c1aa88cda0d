# SPDX-License-Identifier: Apache-2.0

"""The row of a server, in cell0 or in a real cell, in a transaction.

Nova would read the objects with all else that they have.
"""

from __future__ import annotations

import inspect
import typing as ty

from nova.compute import task_states
from nova.compute import vm_states
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import objects
import sqlalchemy as sa

from cell0_rebuild.move import late_changes

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class Watched(ty.NamedTuple):
    """What is read of a row.

    :param deleted: its owner deleted it.
    :param being_deleted: its owner is about to.
    :param values: as :mod:`late_changes` has them.
    """

    deleted: bool
    being_deleted: bool
    task_state: str | None
    values: dict[str, ty.Any]


def read(
    context: nova_context.RequestContext, instance_uuid: str,
    is_locked: bool = False,
) -> Watched | None:
    """Return what is watched of a row; None if it is not there.

    :param context: targeted at a cell, in a transaction.
    :param is_locked: lock it until the transaction ends.
    """
    instance, volume = models.Instance, models.BlockDeviceMapping
    query = context.session.query(
        instance.deleted, instance.vm_state, instance.task_state,
        *(getattr(instance, field) for field in late_changes.FIELDS),
        volume.uuid, volume.delete_on_termination,
        volume.deleted.label('volume_deleted'),
    ).outerjoin(
        volume, volume.instance_uuid == instance.uuid,
    ).filter(instance.uuid == instance_uuid)
    rows = (locked(context, query, instance_uuid)
            if is_locked else query).all()
    if not rows:
        return None
    row = rows[0]
    return Watched(
        bool(row.deleted),
        # Nova deletes the row with the vm_state "deleted" and no task_state.
        row.task_state == task_states.DELETING
        or row.vm_state == vm_states.DELETED,
        row.task_state,
        _values(context, instance_uuid, rows))


def locked(
    context: nova_context.RequestContext, query: ty.Any, instance_uuid: str
) -> ty.Any:
    """Return a query that locks what it reads of an instance and its volumes.

    :param context: in a transaction.
    :param query: joins the volumes, if there are any.
    """
    if context.session.get_bind().dialect.name != 'postgresql':
        return query.with_for_update()
    # It refuses to lock what an outer join may not find.
    context.session.query(models.BlockDeviceMapping.id).filter_by(
        instance_uuid=instance_uuid).with_for_update().all()
    return query.with_for_update(of=models.Instance)


@main_db_api.pick_context_manager_reader
def look(
    context: nova_context.RequestContext, instance_uuid: str
) -> Watched | None:
    """Return the same by a transaction of its own."""
    return read(context, instance_uuid)


@main_db_api.pick_context_manager_reader
def look_at_instance(
    context: nova_context.RequestContext, instance_uuid: str
) -> dict[str, ty.Any] | None:
    """Return what is watched of the instance alone, by one statement.

    :returns: None if it is not there, or deleted.
    """
    fields = [getattr(models.Instance, field)
              for field in late_changes.FIELDS]
    row = context.session.query(
        *fields, models.InstanceSystemMetadata.value,
    ).select_from(models.Instance).outerjoin(
        models.InstanceSystemMetadata, _is_why_locked(),
    ).filter(models.Instance.uuid == instance_uuid,
             models.Instance.deleted == 0).first()
    return None if row is None else late_changes.watched(
        _instance(row, row.value))


def hidden(value: bool) -> dict[str, ty.Any]:
    """Return the columns of a row that is hidden or shown."""
    # To its owner the server has not changed by it.
    return {'hidden': value, 'updated_at': models.Instance.updated_at}


def destroy(
    context: nova_context.RequestContext, instance_uuid: str, **conditions: int
) -> None:
    """Delete a row, and all that belongs to it, for good.

    :param context: targeted at a cell, in a transaction.
    :param conditions: values of columns that the row must have.
    :raises InstanceNotFound: if it is not there.
    :raises ConstraintNotMet: if it has a host, or another value.
    """
    # Nova's own would try again after a deadlock by itself, when the locks
    # are gone.
    delete = inspect.unwrap(main_db_api.instance_destroy)
    delete(context, instance_uuid, hard_delete=True,
           constraint=main_db_api.constraint(
               host=main_db_api.equal_any(None),
               **{column: main_db_api.equal_any(value)
                  for column, value in conditions.items()}))


def _values(
    context: nova_context.RequestContext, instance_uuid: str,
    rows: list[ty.Any],
) -> dict[str, ty.Any]:
    metadata, tag = models.InstanceSystemMetadata, models.Tag
    others = context.session.query(metadata.value, tag.tag).select_from(
        models.Instance,
    ).outerjoin(metadata, _is_why_locked()).outerjoin(
        tag, tag.resource_id == models.Instance.uuid,
    ).filter(models.Instance.uuid == instance_uuid).all()
    return late_changes.watched(
        _instance(rows[0], others[0].value if others else None),
        [objects.BlockDeviceMapping(
            uuid=row.uuid, delete_on_termination=row.delete_on_termination)
         for row in rows if row.uuid and not row.volume_deleted],
        [objects.Tag(tag=name) for name in sorted({
            row.tag for row in others if row.tag is not None})])


def _is_why_locked() -> ty.Any:
    """Return the condition that joins the reason of a lock."""
    metadata = models.InstanceSystemMetadata
    return sa.and_(metadata.instance_uuid == models.Instance.uuid,
                   metadata.key == 'locked_reason', metadata.deleted == 0)


def _instance(row: ty.Any, locked_reason: str | None) -> objects.Instance:
    # Others compare what is in objects: they give it the same form.
    return objects.Instance(
        system_metadata={'locked_reason': locked_reason},
        **{field: getattr(row, field) for field in late_changes.FIELDS})
