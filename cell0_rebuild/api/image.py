# SPDX-License-Identifier: Apache-2.0

"""The image of a server that is rebuilt."""

from __future__ import annotations

import dataclasses
import typing as ty

from nova import block_device
from nova import exception
from nova import objects
from nova import utils
from nova.virt import hardware
import webob.exc

from cell0_rebuild.api import errors
from cell0_rebuild.api import named_image
from cell0_rebuild.api import volumes

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context


@dataclasses.dataclass(frozen=True)
class Image:
    """The image to build a server from.

    :param id: None if a volume-backed server has none of its own.
    :param meta: as Nova's image API, or the volume, describes it.
    :param is_other: the server had another image.
    :param is_new: the server had another image, or the image has other
        properties now.
    :param overwrites: the root volume gets this image.
    """

    id: str | None
    meta: dict[str, ty.Any]
    is_other: bool
    is_new: bool
    overwrites: bool = False


def current(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    is_known: bool = True,
) -> str:
    """Return the ID of the image that a buried server has.

    :param is_known: whether it is known what is on its root volume.
    :raises HTTPBadRequest: if it has none.
    :raises HTTPConflict: if it is not known what is on the root volume.
    """
    before = _before(compute_api, context, instance, bdms, is_known)
    if not before.is_known:
        _refuse_unknown(bdms)
    return _any(before, instance)


def of_launched(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
) -> str:
    """Return the ID of the image with which Nova changes nothing.

    Without overwriting the volume, Nova rebuilds a volume-backed server with
    the image of its volume alone, whose properties it takes.

    :raises HTTPBadRequest: if the server has none.
    :raises HTTPConflict: if it has another one.
    """
    before = _before(compute_api, context, instance, bdms)
    image_id = _any(before, instance)
    if not before.is_volume_backed:
        return image_id
    if not named_image.is_same(image_id, before.on_volume):
        errors.conflict(
            f'Server {instance.uuid} has image {image_id}, its root volume '
            f'{before.on_volume or "none"}. To keep the volume, name its '
            f'image with a microversion below 2.93: from 2.93 on, Nova '
            f'writes it.')
    # Nova compares the texts.
    return str(before.on_volume)


def for_build(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    image_href: str | None, reimages: bool, is_known: bool,
) -> Image:
    """Return the image that a buried server is built from.

    :param image_href: the image that the request names; None keeps the
        server's.
    :param reimages: the request may write a new image to a root volume.
    :param is_known: whether it is known what is on it.
    :raises HTTPConflict: if it is not known what is on the root volume, and
        the request names no image.
    :raises ImageNotFound: if there is none such.
    :raises ImageUnacceptable: if the root disk would get another image and
        may or can not.
    """
    before = _before(compute_api, context, instance, bdms, is_known)
    meaning = named_image.meaning(before, image_href, reimages)
    if meaning is named_image.Meaning.UNKNOWN:
        _refuse_unknown(bdms)
    if meaning is named_image.Meaning.TOO_OLD:
        raise exception.ImageUnacceptable(
            image_id=image_href,
            reason='a volume-backed server gets another image from '
                   'microversion 2.93 on only')
    if meaning is named_image.Meaning.KEEP:
        return _kept(compute_api, context, instance, bdms)
    writes = meaning is named_image.Meaning.WRITE
    image_id, meta = compute_api._get_image(
        context, image_href if writes else before.on_volume)
    if writes and meta.get('size') == 0:
        raise exception.ImageUnacceptable(
            image_id=image_href,
            reason='it has no data, as an image of a volume-backed server')
    return Image(image_id, meta, is_other=True, is_new=True,
                 overwrites=writes and before.is_volume_backed)


def _kept(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
) -> Image:
    """Return the image of a server, found as Nova's create finds it."""
    image_id = None
    try:
        if instance.image_ref:
            image_id, meta = compute_api._get_image(
                context, instance.image_ref)
        else:
            meta = block_device.get_bdm_image_metadata(
                context, compute_api.image_api, compute_api.volume_api, bdms,
                legacy_bdm=False)
    except (exception.ImageNotFound, exception.ImageNotAuthorized):
        # The volume needs no image.
        if not volumes.is_volume_backed(bdms):
            raise
        return Image(instance.image_ref, _stored(instance), is_other=False,
                     is_new=False)
    return Image(image_id, meta, is_other=False,
                 is_new=_has_changed(instance, meta))


def _stored(instance: objects.Instance) -> dict[str, ty.Any]:
    """Return an image as it was when the server was made."""
    meta: dict[str, ty.Any] = utils.get_image_from_system_metadata(
        _image_properties(instance))
    return {**meta, 'status': 'active'}


def _before(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    is_known: bool = True,
) -> named_image.Before:
    own = instance.image_ref or ''
    if not volumes.is_volume_backed(bdms):
        return named_image.Before(own, is_volume_backed=False)
    return named_image.Before(
        own, is_volume_backed=True, is_known=is_known,
        on_volume=_of_root_volume(compute_api, context, bdms))


def _any(before: named_image.Before, instance: objects.Instance) -> str:
    image_id = before.has()
    if not image_id:
        raise webob.exc.HTTPBadRequest(
            explanation=f'Server {instance.uuid} has no image to keep; name '
                        f'one as imageRef.')
    return image_id


def _refuse_unknown(bdms: objects.BlockDeviceMappingList) -> ty.NoReturn:
    """Refuse a request: it is not known what is on the root volume.

    :raises HTTPConflict: always.
    """
    errors.conflict(
        f'An image was to be written to volume {bdms.root_bdm().volume_id}, '
        f'and nobody saw that done: what is on it is not known. Name the '
        f'image that the server is to be rebuilt with; it is written anew.')


def encrypt_disks(
    compute_api: compute.API, instance: objects.Instance, image: Image,
    bdms: objects.BlockDeviceMappingList,
) -> None:
    """Have local disks encrypted if the flavor or the image asks for it.

    :param instance: with the properties of its former image. If that asked for
        it, this ends. What its block device mapping says by itself stays.
    :raises FlavorImageConflict: if they ask for different things.
    """
    if hardware.get_ephemeral_encryption_constraint(
            instance.flavor, objects.ImageMeta.from_instance(instance)):
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
    before = _image_properties(instance)
    # Nova adds it; an image may have it as a property, too.
    for properties in (now, before):
        properties.pop(f'{utils.SM_IMAGE_PROP_PREFIX}base_image_ref', None)
    return now != before


def _image_properties(instance: objects.Instance) -> dict[str, ty.Any]:
    return {key: value for key, value in instance.system_metadata.items()
            if key.startswith(utils.SM_IMAGE_PROP_PREFIX)}


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
