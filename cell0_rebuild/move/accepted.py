# SPDX-License-Identifier: Apache-2.0

"""What a rebuild request, and its owner since, have changed on a server.

A server that goes back to cell0 keeps it.
"""

from __future__ import annotations

import contextlib
import typing as ty

from nova import exception
from nova import objects

from cell0_rebuild.move import copies
from cell0_rebuild.move import watched

if ty.TYPE_CHECKING:
    from cell0_rebuild.move import attempt as attempts


def keep_changes(
    context: ty.Any, cctxt: ty.Any, attempt: attempts.Attempt
) -> dict[str, ty.Any]:
    """Give the row in cell0 what was accepted since it was hidden.

    :param cctxt: targeted at cell0.
    :returns: what was :mod:`watched` then.
    """
    try:
        last = objects.BuildRequest.get_by_instance_uuid(
            context, attempt.uuid).instance
    except exception.BuildRequestNotFound:
        last = attempt.build_request.instance
    instance = objects.Instance.get_by_uuid(
        cctxt, attempt.uuid, expected_attrs=copies.LOADED)
    seen = attempt.last_state or watched.state(last)
    with watched.saved(cctxt, instance):
        if attempt.mark.accepted:
            _keep_asked(instance, last, attempt.mark.changed)
            _keep_root(cctxt, attempt)
        watched.update(instance, watched.changes(attempt.mark.asked, seen))
    return seen


def keep_late(
    cctxt: ty.Any, instance_uuid: str, seen: dict[str, ty.Any], last: ty.Any
) -> None:
    """Give the row in cell0 what was accepted since it was looked at.

    :param cctxt: targeted at cell0.
    :param seen: what was :mod:`watched` then.
    :param last: the instance of the build request, which goes.
    """
    changed = watched.changes(seen, watched.state(last))
    if not changed:
        return
    with contextlib.suppress(exception.InstanceNotFound):
        instance = objects.Instance.get_by_uuid(
            cctxt, instance_uuid, expected_attrs=copies.LOADED)
        with watched.saved(cctxt, instance):
            watched.update(instance, changed)


def _keep_asked(
    instance: ty.Any, last: ty.Any, changed: list[str]
) -> None:
    """Give the instance what the rebuild request changed."""
    for field in changed:
        if field != 'system_metadata':
            setattr(instance, field, getattr(last, field))
    if 'system_metadata' in changed:
        instance.system_metadata = _merged(
            instance.system_metadata, last.system_metadata)


def _keep_root(cctxt: ty.Any, attempt: attempts.Attempt) -> None:
    """Have a root volume that is still to be made come from the new image."""
    asked = attempt.build_request.block_device_mappings.root_bdm()
    if asked is None or asked.volume_id or not asked.is_volume:
        return
    bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
        cctxt, attempt.uuid)
    for bdm in bdms:
        if bdm.uuid == asked.uuid and bdm.image_id != asked.image_id:
            bdm.source_type = asked.source_type
            bdm.image_id = asked.image_id
            bdm.snapshot_id = asked.snapshot_id
            bdm.save()


def _merged(
    old: dict[str, ty.Any], new: dict[str, ty.Any]
) -> dict[str, ty.Any]:
    """Return system metadata with the image properties of the new one."""
    merged = {key: value for key, value in old.items()
              if not key.startswith('image_')}
    merged.update((key, value) for key, value in new.items()
                  if key.startswith('image_'))
    return merged
