# SPDX-License-Identifier: Apache-2.0

"""The volumes of a buried server, before it is rebuilt."""

from __future__ import annotations

import typing as ty

from nova import exception
from nova import utils
from nova.volume import cinder
import webob.exc

from cell0_rebuild.api import errors
from cell0_rebuild.api import named_image

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context
    from nova import objects


# From it on Cinder writes an image to a volume that is reserved.
REIMAGE_MICROVERSION = '3.68'

# The property of an image that says of which type Cinder makes a volume.
_TYPE_OF_IMAGE = 'cinder_img_volume_type'

# Of a volume that waits for its server. Of one that others may have, or that
# was reserved without an attachment, also what a host does with it.
_WAITING = ('reserved', 'in-use')
_SHARED = (*_WAITING, 'attaching', 'detaching')


def check(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
    bdms: objects.BlockDeviceMappingList,
) -> None:
    """Check that the volumes are still there and reserved for the server.

    The block device mappings get the size that each has now.

    If servers must be in the zone of their volumes, a server without a zone
    gets this zone, as at create.

    The source of a volume that is still to be made is checked: if a compute
    fails to make the volume, the server stays in a real cell.

    :param context: the caller's.
    :raises HTTPBadRequest: if a volume or its attachment is gone.
    :raises HTTPConflict: if a volume would be made in the wrong project.
    :raises NovaException: if an image, a snapshot or a volume type is gone,
        or a volume is in another zone.
    """
    there = []
    for bdm in bdms:
        if not bdm.is_volume:
            continue
        if bdm.volume_id:
            volume = _attached(compute_api.volume_api, context, instance, bdm)
            bdm.volume_size = volume['size']
            there.append(volume)
        elif context.project_id != instance.project_id:
            errors.conflict(
                f'Server {instance.uuid} gets a new volume when it is built, '
                f'and it would be made in your project instead of project '
                f'{instance.project_id}. Have a user of that project rebuild '
                f'it.')
        else:
            _check_source(compute_api, context, bdm)
    zone = compute_api._validate_vol_az_for_create(
        spec.availability_zone, there)
    if zone:
        instance.availability_zone = spec.availability_zone = zone


def _attached(
    volume_api: cinder.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdm: objects.BlockDeviceMapping,
) -> dict[str, ty.Any]:
    try:
        volume: dict[str, ty.Any] = volume_api.get(context, bdm.volume_id)
        if bdm.attachment_id:
            _check_owner(
                volume_api.attachment_get(context, bdm.attachment_id),
                instance.uuid)
    except (exception.VolumeNotFound,
            exception.VolumeAttachmentNotFound) as error:
        raise webob.exc.HTTPBadRequest(
            explanation=error.format_message()) from error
    is_alone = bdm.attachment_id and not volume['multiattach']
    if volume['status'] not in (_WAITING if is_alone else _SHARED):
        errors.conflict(
            f'Volume {bdm.volume_id} of server {instance.uuid} is in status '
            f'{volume["status"]}. Try again when it is reserved; operators: '
            f'"cinder reset-state --state reserved" when it is put right.')
    if is_alone:
        _check_alone(volume, instance.uuid)
    return volume


def give_image(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    image_id: str,
) -> str | None:
    """Give the root volume of a server that is rebuilt a new image.

    :param instance: with the properties of its former image.
    :param bdms: those to build with; a root volume that is still to be made
        will be made from the image, and is of the type that it would have
        been of without it.
    :returns: the ID of a root volume that is there, which Cinder has to write
        the image to; None if there is none.
    :raises HTTPConflict: if this Cinder cannot do that, or other servers may
        have the volume.
    :raises NovaException: if a snapshot or its volume is gone, or an image
        that the server has no properties of.
    """
    root = bdms.root_bdm()
    if not root.volume_id:
        root.volume_type = root.volume_type or _implied_type(
            compute_api, context, instance, root)
        root.source_type = 'image'
        root.image_id = image_id
        root.snapshot_id = None
        return None
    try:
        cinder.is_microversion_supported(context, REIMAGE_MICROVERSION)
    except exception.CinderAPIVersionNotAvailable:
        errors.conflict(
            f'The image of volume {root.volume_id} can be changed by a Cinder '
            f'with API microversion {REIMAGE_MICROVERSION} only. Rebuild the '
            f'server without naming an image: it keeps the one it has.')
    # A volume shows no attachment without a host. With one that has a host,
    # Cinder refuses by itself.
    if compute_api.volume_api.get(context, root.volume_id)['multiattach']:
        errors.conflict(
            f'Volume {root.volume_id} is of a type with multiattach. Another '
            f'image would be written to it for all servers that have it. '
            f'Rebuild the server without naming an image: it keeps the one '
            f'it has.')
    return str(root.volume_id)


def _implied_type(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdm: objects.BlockDeviceMapping,
) -> str | None:
    """Return the type of a volume for which none was asked for.

    It may say that the volume is encrypted. The sources are
    ``nova.virt.block_device.DriverVolSnapshotBlockDevice.attach`` and, for an
    image, what Cinder does when it creates a volume.
    """
    if bdm.image_id:
        return _type_of_image(compute_api, context, instance, bdm.image_id)
    if bdm.snapshot_id is None:
        return None
    volume_api = compute_api.volume_api
    snapshot = volume_api.get_snapshot(context, bdm.snapshot_id)
    volume = volume_api.get(context, snapshot['volume_id'])
    found: str | None = volume.get('volume_type_id')
    return found


def _type_of_image(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, image_id: str,
) -> str | None:
    found: str | None
    try:
        _, image = compute_api._get_image(context, image_id)
        found = image['properties'].get(_TYPE_OF_IMAGE)
    except exception.ImageNotFound as error:
        # Those of its properties that the server has are of its own image.
        if not named_image.is_same(image_id, instance.image_ref or image_id):
            raise exception.InvalidBDMImage(id=image_id) from error
        found = instance.system_metadata.get(
            f'{utils.SM_IMAGE_PROP_PREFIX}{_TYPE_OF_IMAGE}')
    return found


def _check_owner(
    attachment: dict[str, ty.Any], instance_uuid: str
) -> None:
    # Nova's client puts it there once the attachment has a connection.
    told = {**(attachment['connection_info'] or {}), **attachment}
    if told.get('instance', instance_uuid) != instance_uuid:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume attachment {attachment["id"]} is not one of '
                        f'server {instance_uuid} any more.')


def _check_alone(volume: dict[str, ty.Any], instance_uuid: str) -> None:
    """Check that no other server has a volume.

    Cinder refuses the attachment of the second when a compute connects it.
    """
    others = set(volume.get('attachments') or ()) - {instance_uuid}
    if others:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Volume {volume["id"]} of server {instance_uuid} is '
                        f'attached to another server. Detach it there and '
                        f'try again, or delete this server and create it '
                        f'again.')


def _check_source(
    compute_api: compute.API, context: nova_context.RequestContext,
    bdm: objects.BlockDeviceMapping,
) -> None:
    if bdm.image_id:
        try:
            compute_api._get_image(context, bdm.image_id)
        except exception.ImageNotFound as error:
            raise exception.InvalidBDMImage(id=bdm.image_id) from error
    if bdm.snapshot_id:
        compute_api.volume_api.get_snapshot(context, bdm.snapshot_id)
    if bdm.volume_type and not any(
            bdm.volume_type in (found['id'], found['name'])
            for found in compute_api.volume_api.get_all_volume_types(
                context)):
        raise exception.VolumeTypeNotFound(id_or_name=bdm.volume_type)


def is_volume_backed(bdms: objects.BlockDeviceMappingList) -> bool:
    """Tell whether the server boots from a volume."""
    root = bdms.root_bdm()
    return root is not None and bool(root.is_volume)
