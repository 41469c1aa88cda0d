# SPDX-License-Identifier: Apache-2.0

"""The image of a server that is rebuilt."""

from __future__ import annotations

import dataclasses
import typing as ty

from nova import block_device
from nova import exception
from nova import utils
import webob.exc

from cell0_rebuild.api import errors
from cell0_rebuild.api import volumes

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context
    from nova import objects


@dataclasses.dataclass(frozen=True)
class Image:
    """The image to build a server from.

    :param id: None if a volume-backed server keeps its own.
    :param meta: as Nova's image API, or the volume, describes it.
    :param is_new: the server had another image, or the image has other
        properties now.
    :param overwrites: the root volume gets this image.
    """

    id: str | None
    meta: dict[str, ty.Any]
    is_new: bool
    overwrites: bool = False


def current(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    written: str | None = None,
) -> str:
    """Return the ID of the image that a server has.

    :param written: the image that a former rebuild had written to its root
        volume.
    :raises HTTPBadRequest: if it has none.
    :raises HTTPConflict: if it is not known what is on the root volume.
    """
    image_id = instance.image_ref
    if volumes.is_volume_backed(bdms):
        image_id = _of_root_volume(compute_api, context, bdms)
        _check_known(bdms, image_id, written)
    if not image_id:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Server {instance.uuid} has no image to keep; name '
                        f'one as imageRef.')
    return str(image_id)


def for_build(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    image_href: str | None, reimages: bool, written: str | None,
) -> Image:
    """Return the image that a buried server is built from.

    :param image_href: the image that the request names; None keeps the
        server's.
    :param reimages: the request may write a new image to a root volume.
    :param written: the image that a former rebuild had written to it.
    :raises HTTPConflict: if it is not known what is on the root volume, and
        the request names no image.
    :raises ImageNotFound: if there is none such.
    :raises ImageUnacceptable: if a root volume would get another image and
        may not.
    """
    if not volumes.is_volume_backed(bdms):
        image_id, meta = compute_api._get_image(
            context, image_href or instance.image_ref)
        return Image(image_id, meta, image_id != instance.image_ref
                     or _has_changed(instance, meta))
    return _for_volume(
        compute_api, context, instance, bdms, image_href, reimages, written)


def _for_volume(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    image_href: str | None, reimages: bool, written: str | None,
) -> Image:
    there = _of_root_volume(compute_api, context, bdms)
    if image_href is None:
        _check_known(bdms, there, written)
    if image_href is None or (
            image_href == there and _is_known(there, written)):
        meta = block_device.get_bdm_image_metadata(
            context, compute_api.image_api, compute_api.volume_api, bdms,
            legacy_bdm=False)
        return Image(None, meta, _has_changed(instance, meta))
    if not reimages:
        raise exception.ImageUnacceptable(
            image_id=image_href,
            reason='a volume-backed server gets another image from '
                   'microversion 2.93 on only')
    image_id, meta = compute_api._get_image(context, image_href)
    return Image(image_id, meta, is_new=True, overwrites=True)


def _check_known(
    bdms: objects.BlockDeviceMappingList, there: str | None,
    written: str | None,
) -> None:
    """Check that it is known what is on the root volume.

    :param there: the image that Cinder says is on it.
    :raises HTTPConflict: if it is not.
    """
    if not _is_known(there, written):
        errors.conflict(
            f'An image was to be written to volume '
            f'{bdms.root_bdm().volume_id}, and that failed: what is on it is '
            f'not known. Name the image that the server is to be rebuilt '
            f'with.')


def _is_known(there: str | None, written: str | None) -> bool:
    # Cinder says what was on the volume before, if it fails to write.
    return written in (None, there)


def encrypt_disks(
    compute_api: compute.API, instance: objects.Instance, image: Image,
    bdms: objects.BlockDeviceMappingList,
) -> None:
    """Have local disks encrypted if the flavor or the image asks for it.

    What the block device mappings say is of the image of the create.

    :raises FlavorImageConflict: if they ask for different things.
    """
    for bdm in bdms:
        if bdm.is_local:
            bdm.encrypted = False
            bdm.encryption_format = None
    compute_api._update_ephemeral_encryption_bdms(
        instance.flavor, image.meta, bdms)


def _has_changed(instance: objects.Instance, meta: dict[str, ty.Any]) -> bool:
    """Tell whether an image is not as it was when the server was made.

    A property that found no host may have been mended in the image.
    """
    now = {key: str(value) for key, value in
           utils.get_system_metadata_from_image(meta, instance.flavor).items()}
    before = {key: value for key, value in instance.system_metadata.items()
              if key.startswith(utils.SM_IMAGE_PROP_PREFIX)}
    # Nova adds it; an image may have it as a property, too.
    for properties in (now, before):
        properties.pop(f'{utils.SM_IMAGE_PROP_PREFIX}base_image_ref', None)
    return now != before


def _of_root_volume(
    compute_api: compute.API, context: nova_context.RequestContext,
    bdms: objects.BlockDeviceMappingList,
) -> str | None:
    """Return the ID of the image of the root volume, also of one to come."""
    root = bdms.root_bdm()
    volume_id = root.volume_id
    if volume_id is None and root.image_id:
        return str(root.image_id)
    if volume_id is None and root.snapshot_id:
        volume_id = compute_api.volume_api.get_snapshot(
            context, root.snapshot_id)['volume_id']
    if volume_id is None:
        return None
    volume = compute_api.volume_api.get(context, volume_id)
    image_id: str | None = volume.get('volume_image_metadata', {}).get(
        'image_id')
    return image_id
