# SPDX-License-Identifier: Apache-2.0

"""What a rebuild request changes on a server, as Nova's own rebuild does it.

The source is ``nova.compute.api.API.rebuild``.
"""

from __future__ import annotations

import typing as ty

from nova import exception
from nova import objects
from nova import utils
import webob.exc

from cell0_rebuild.api import image as images
from cell0_rebuild.api import volumes

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context


def apply(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    image: images.Image, changes: dict[str, ty.Any],
) -> None:
    """Set on the instance to build what the request changes.

    :param context: of the user whose keys are meant.
    :param changes: the keyword arguments of ``API.rebuild``.
    :raises KeypairNotFound: and whatever Nova's rebuild raises for them.
    """
    changes = dict(changes)
    changes.pop('preserve_ephemeral', None)  # there is nothing to preserve
    if 'key_name' in changes:
        _set_key(context, instance, changes.pop('key_name'))
    if 'trusted_certs' in changes:
        _set_trusted_certs(
            compute_api, context, instance, bdms,
            changes.pop('trusted_certs'))
    disk_config = changes.pop('auto_disk_config', None)
    compute_api._check_auto_disk_config(
        image=image.meta, auto_disk_config=disk_config)
    kernel = _kernel_and_ramdisk(compute_api, context, instance, image)
    if image.is_new:
        if disk_config is None and not image.is_other:
            disk_config = instance.auto_disk_config
        _set_image(compute_api, instance, image, disk_config, kernel)
    elif disk_config is not None:
        instance.auto_disk_config = disk_config
    for name, value in changes.items():
        setattr(instance, name, value)


def _set_key(
    context: nova_context.RequestContext, instance: objects.Instance,
    key_name: str | None,
) -> None:
    keys = []
    if key_name:
        keys = [objects.KeyPair.get_by_name(
            context, context.user_id, key_name)]
    instance.key_name = keys[0].name if keys else None
    instance.key_data = keys[0].public_key if keys else None
    instance.keypairs = objects.KeyPairList(objects=keys)


def _set_trusted_certs(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, bdms: objects.BlockDeviceMappingList,
    ids: list[str] | None,
) -> None:
    certs = compute_api._retrieve_trusted_certs_object(
        context, ids, rebuild=True)
    if certs is not None and volumes.is_volume_backed(bdms):
        raise exception.CertificateValidationFailed(
            message='Image certificate validation is not supported for '
                    'volume-backed servers.')
    instance.trusted_certs = certs


def _kernel_and_ramdisk(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, image: images.Image,
) -> tuple[str | None, str | None]:
    """Return the images that an image is booted with.

    :raises HTTPBadRequest: if one is gone.
    """
    try:
        found: tuple[str | None, str | None] = (
            compute_api._handle_kernel_and_ramdisk(
                context, None, None, image.meta))
    except exception.ImageNotFound as error:
        raise webob.exc.HTTPBadRequest(
            explanation=f'The image for server {instance.uuid} has a kernel '
                        f'or ramdisk that is gone: {error.format_message()} '
                        f'Rebuild the server with another image.') from error
    return found


def _set_image(
    compute_api: compute.API, instance: objects.Instance, image: images.Image,
    disk_config: bool | None, kernel: tuple[str | None, str | None],
) -> None:
    kernel_id, ramdisk_id = kernel
    instance.kernel_id = kernel_id or ''
    instance.ramdisk_id = ramdisk_id or ''
    properties = compute_api._inherit_properties_from_image(
        image.meta, disk_config)
    for name, value in properties.items():
        setattr(instance, name, value)
    metadata = {
        key: value for key, value in instance.system_metadata.items()
        if not key.startswith(utils.SM_IMAGE_PROP_PREFIX)}
    metadata.update(utils.get_system_metadata_from_image(
        image.meta, instance.flavor))
    metadata['image_base_image_ref'] = (
        image.id if image.is_other else
        instance.system_metadata.get('image_base_image_ref', ''))
    # As in Nova, it stays empty if the server is to have no image but that of
    # its volume.
    if image.is_other and instance.image_ref:
        instance.image_ref = image.id
    instance.system_metadata = metadata
