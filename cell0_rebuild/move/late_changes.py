# SPDX-License-Identifier: Apache-2.0

"""What an owner can still change while the server is on its way.

A request may read the server in cell0, or the build request, just before a
step of a move, and write to it just after. An accepted change must not be
lost. So what is watched of the rows is compared with what it was, and the
difference is applied where the server is now.
"""

from __future__ import annotations

import contextlib
import functools
import typing as ty

from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import exception
from nova import objects
from oslo_log import log as logging

from cell0_rebuild import db_errors
from cell0_rebuild.move import cell0_copy

if ty.TYPE_CHECKING:
    from nova import context as nova_context

    from cell0_rebuild.move import journal

LOG = logging.getLogger(__name__)

_Write = ty.Callable[[ty.Any], None]

# All that Nova's PUT can change of an instance, and what a lock does.
FIELDS = ('display_name', 'display_description', 'hostname', 'access_ip_v4',
          'access_ip_v6', 'auto_disk_config', 'locked', 'locked_by')
# The values of a lock are one: two locks do not mix.
_LOCK = frozenset(('locked', 'locked_by', 'locked_reason'))
# JSON has no addresses.
_AS_TEXT = ('access_ip_v4', 'access_ip_v6')
# Of each volume, by the UUID of its block device mapping.
_FLAGS = 'delete_on_termination'


def watched(
    instance: objects.Instance,
    bdms: objects.BlockDeviceMappingList | None = None,
    tags: objects.TagList | None = None,
) -> dict[str, ty.Any]:
    """Return what an owner can change of a server, in types that JSON has.

    :param bdms: without them, their flags are left out.
    :param tags: without them, the tags are left out.
    """
    found = {field: getattr(instance, field) for field in FIELDS}
    found.update((field, str(found[field])) for field in _AS_TEXT
                 if found[field] is not None)
    found['locked_reason'] = instance.system_metadata.get('locked_reason')
    if bdms is not None:
        found[_FLAGS] = {
            bdm.uuid: bdm.delete_on_termination for bdm in bdms}
    if tags is not None:
        found['tags'] = sorted(tag.tag for tag in tags)
    return found


def watched_in(primitive: dict[str, ty.Any]) -> dict[str, ty.Any]:
    """Return the same of an instance as a build request stores it.

    To make the object takes long.
    """
    data = primitive['nova_object.data']
    return {**{field: data[field] for field in FIELDS if field in data},
            'locked_reason': data['system_metadata'].get('locked_reason')}


def changes(
    before: dict[str, ty.Any], after: dict[str, ty.Any]
) -> dict[str, ty.Any]:
    """Return the new values of what is watched in both and differs.

    Of the flags of volumes, those that differ.
    """
    found = {}
    for name, new in after.items():
        old = before.get(name, new)
        if isinstance(old, dict):
            old, new = {}, changes(old, new)
        if old != new:
            found[name] = new
    if not _LOCK.isdisjoint(found):
        found.update((name, after[name]) for name in _LOCK if name in after)
    return found


def late(
    older_base: dict[str, ty.Any], older: dict[str, ty.Any],
    newer_base: dict[str, ty.Any], newer: dict[str, ty.Any],
) -> dict[str, ty.Any]:
    """Return what an owner has changed of an older row, and not of a newer.

    A server that moves has two rows. Its owner is shown the newer one, but may
    have read the older one before, and change it still. The newer one is to
    have the older one's change, unless it was changed itself.

    :param older_base: what was watched of the older row when the newer one
        was made.
    :param older: what is watched of it now.
    :param newer_base: what was watched of the newer row at first; what is not
        there counts as not changed.
    :param newer: what is watched of it now, likewise.
    """
    found = _not_changed(changes(older_base, older), newer_base, newer)
    if not _LOCK.isdisjoint(changes(newer_base, {
            name: newer[name] for name in _LOCK if name in newer})):
        return {name: value for name, value in found.items()
                if name not in _LOCK}
    return found


def _not_changed(
    late: dict[str, ty.Any], before: dict[str, ty.Any], now: dict[str, ty.Any]
) -> dict[str, ty.Any]:
    found = {}
    for name, value in late.items():
        old = before.get(name)
        new = now.get(name, old)
        if isinstance(value, dict):
            value = _not_changed(value, old or {}, new or {})
            if value:
                found[name] = value
        elif name not in before or new in (old, value):
            found[name] = value
    return found


def flags_of(watched: dict[str, ty.Any]) -> dict[str, ty.Any]:
    """Return the flags of volumes alone, if they are watched."""
    return {name: watched[name] for name in (_FLAGS,) if name in watched}


def going(watched: dict[str, ty.Any]) -> dict[str, ty.Any]:
    """Return the flags alone of the volumes that go with the server."""
    flags = watched.get(_FLAGS, {})
    return {_FLAGS: {uuid: goes for uuid, goes in flags.items() if goes}}


def apply(
    context: nova_context.RequestContext, instance: objects.Instance,
    bdms: ty.Iterable[objects.BlockDeviceMapping], changed: dict[str, ty.Any],
) -> None:
    """Write changes to the server, through objects that callers may hold.

    :param context: targeted at the cell that the server is in.
    :raises InstanceNotFound: if it was deleted there.
    """
    if not changed:
        return
    _save_flags(context, bdms, changed)
    with saved(context, instance):
        update(instance, changed)
    if 'tags' in changed:
        with instance.obj_alternate_context(context):
            instance.tags = objects.TagList.create(
                context, instance.uuid, changed['tags'])
            instance.obj_reset_changes(['tags'])


def _save_flags(
    context: nova_context.RequestContext,
    bdms: ty.Iterable[objects.BlockDeviceMapping], changed: dict[str, ty.Any],
) -> None:
    flags = changed.get(_FLAGS, {})
    for bdm in bdms:
        if flags.get(bdm.uuid, bdm.delete_on_termination) != (
                bdm.delete_on_termination):
            bdm.delete_on_termination = flags[bdm.uuid]
            # Its owner may delete the server just then.
            with bdm.obj_alternate_context(context), (
                    contextlib.suppress(exception.BDMNotFound)):
                bdm.save()


@contextlib.contextmanager
def saved(
    context: nova_context.RequestContext, instance: objects.Instance
) -> ty.Iterator[None]:
    """Save the changes that are made to an instance inside the block.

    Only the changed keys of its system metadata are written. Nova's own save
    writes all keys, and so removes the keys that others have added meanwhile.
    After an error the object is as before, so that it can be tried again.

    :param context: targeted at the cell that the server is in.
    :raises InstanceNotFound: if it was deleted there.
    """
    fields = {field: getattr(instance, field) for field in FIELDS}
    before = dict(instance.system_metadata)
    try:
        yield
        _save(context, instance, before)
    except Exception:
        for field, value in fields.items():
            setattr(instance, field, value)
        instance.system_metadata = before
        instance.obj_reset_changes([*FIELDS, 'system_metadata'])
        raise


def _save(
    context: nova_context.RequestContext, instance: objects.Instance,
    before: dict[str, str | None],
) -> None:
    after = instance.system_metadata
    if before != after:
        _save_metadata(
            context, instance.uuid,
            [key for key in before if key not in after],
            {key: value for key, value in after.items()
             if key not in before or before[key] != value})
        instance.obj_reset_changes(['system_metadata'])
    if instance.obj_what_changed():
        with instance.obj_alternate_context(context):
            instance.save()


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _save_metadata(
    context: nova_context.RequestContext, instance_uuid: str,
    removed: list[str], changed: dict[str, str | None],
) -> None:
    instance, row = models.Instance, models.InstanceSystemMetadata
    # A lock or an unlock by Nova writes this row before it writes metadata.
    if context.session.query(instance.id).filter_by(
            uuid=instance_uuid, deleted=0).with_for_update().first() is None:
        raise exception.InstanceNotFound(instance_id=instance_uuid)
    context.session.query(row).filter_by(
        instance_uuid=instance_uuid, deleted=0,
    ).filter(row.key.in_([*removed, *changed])).delete(
        synchronize_session=False)
    context.session.add_all(
        row(instance_uuid=instance_uuid, key=key, value=value)
        for key, value in changed.items())


def update(instance: objects.Instance, changed: dict[str, ty.Any]) -> None:
    """Set changes on an instance object, without saving it."""
    for name, value in changed.items():
        if name == 'locked_reason':
            metadata = dict(instance.system_metadata, locked_reason=value)
            if value is None:
                del metadata['locked_reason']
            instance.system_metadata = metadata
        elif name in FIELDS:
            setattr(instance, name, value)


def keep_changes(
    cctxt: nova_context.RequestContext, entry: journal.Entry,
    bdms: objects.BlockDeviceMappingList, last: objects.Instance,
    newer: dict[str, ty.Any] | None = None,
) -> None:
    """Write to the row in cell0 the changes accepted since it was hidden.

    What the request asked for is kept only if that was accepted. A value that
    the database refuses is left out.

    :param cctxt: targeted at cell0.
    :param bdms: the block device mappings of the attempt.
    :param last: the instance as the attempt had it at last.
    :param newer: what is watched of the newer row; of the instance by default.
    """
    changed = changes(
        entry.asked, watched(last) if newer is None else newer)
    writes: list[_Write] = [
        functools.partial(_keep_asked, last=last, field=field)
        for field in entry.changed if entry.accepted]
    writes += _updates(changed)
    with contextlib.suppress(exception.InstanceNotFound):
        _write(cctxt, last.uuid, writes)
        if entry.accepted:
            _keep_disks(cctxt, last.uuid, bdms)
        if _FLAGS in changed:
            _save_flags(
                cctxt, objects.BlockDeviceMappingList.get_by_instance_uuid(
                    cctxt, last.uuid), changed)


def _updates(changed: dict[str, ty.Any]) -> list[_Write]:
    return [functools.partial(update, changed={name: value})
            for name, value in changed.items()]


def _write(
    cctxt: nova_context.RequestContext, instance_uuid: str,
    writes: list[_Write],
) -> None:
    """Write to the row in cell0, all at once if the database takes it so.

    A build request takes every value, as JSON. A server whose row refuses one
    could never be buried again.

    :param writes: each sets some fields of an instance.
    :raises InstanceNotFound: if it was deleted there.
    """
    try:
        instance = objects.Instance.get_by_uuid(
            cctxt, instance_uuid, expected_attrs=cell0_copy.LOADED)
        with saved(cctxt, instance):
            for write in writes:
                write(instance)
    except Exception as error:
        db_errors.without_values(error)
        if not db_errors.is_of_value(error):
            raise
        if len(writes) < 2:
            LOG.warning('A change of the server is lost: its database refuses '
                        'it: %s', error, instance_uuid=instance_uuid)
            return
        # Halves, so that few writes are needed to find the one.
        half = len(writes) // 2
        _write(cctxt, instance_uuid, writes[:half])
        _write(cctxt, instance_uuid, writes[half:])


def keep_last(
    cctxt: nova_context.RequestContext, instance_uuid: str,
    kept: dict[str, ty.Any], last: dict[str, ty.Any],
) -> None:
    """Write to the row in cell0 what was changed since :func:`keep_changes`.

    :param cctxt: targeted at cell0.
    :param kept: what was watched of the newer row then.
    :param last: what is watched of it now.
    """
    if not changes(kept, last):
        return
    with contextlib.suppress(exception.InstanceNotFound):
        instance = objects.Instance.get_by_uuid(
            cctxt, instance_uuid, expected_attrs=cell0_copy.LOADED)
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
            cctxt, instance_uuid)
        # Its owner is shown this row by now.
        found = late(kept, last, kept, watched(instance, bdms))
        _write(cctxt, instance_uuid, _updates(found))
        _save_flags(cctxt, bdms, found)


def _keep_asked(
    instance: objects.Instance, last: objects.Instance, field: str
) -> None:
    """Set on the instance a field that the rebuild request changed."""
    new = getattr(last, field)
    setattr(instance, field, _merged(instance.system_metadata, new)
            if field == 'system_metadata' else new)


def _keep_disks(
    cctxt: nova_context.RequestContext, instance_uuid: str,
    bdms: objects.BlockDeviceMappingList,
) -> None:
    """Keep what the image of the rebuild means for disks that are to come."""
    asked = {bdm.uuid: bdm for bdm in bdms}
    for bdm in objects.BlockDeviceMappingList.get_by_instance_uuid(
            cctxt, instance_uuid):
        for field in _fields_of_image(bdm):
            new = getattr(asked.get(bdm.uuid, bdm), field)
            if new != getattr(bdm, field):
                setattr(bdm, field, new)
        if bdm.obj_what_changed():
            bdm.save()


def _fields_of_image(bdm: objects.BlockDeviceMapping) -> tuple[str, ...]:
    if bdm.is_local:
        return 'encrypted', 'encryption_format'
    if bdm.boot_index == 0 and bdm.volume_id is None:
        return 'source_type', 'image_id', 'snapshot_id', 'volume_type'
    return ()


def _merged(
    old: dict[str, ty.Any], new: dict[str, ty.Any]
) -> dict[str, ty.Any]:
    """Return system metadata with the image properties of the new one."""
    merged = {key: value for key, value in old.items()
              if not key.startswith('image_')}
    merged.update((key, value) for key, value in new.items()
                  if key.startswith('image_'))
    return merged
