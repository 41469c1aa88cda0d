# SPDX-License-Identifier: Apache-2.0

"""The image that a rebuild has to name to keep it."""

from __future__ import annotations

import functools
import typing as ty

from nova.compute import api as nova_compute_api
from nova import exception
from nova import objects
import webob.exc

from cell0_rebuild.api import image
from cell0_rebuild.api import microversion_range
from cell0_rebuild.move import cells


def to_name(context: ty.Any, uuid: str) -> str | None:
    """Return the image that a server in cell0 has.

    :param context: an administrator's.
    :returns: None where none need be named, because the package adds a
        microversion; or where there is none: nova-api says then what it
        lacks.
    """
    if microversion_range.added() is not None:
        return None
    cctxt = cells.targeted(context, cells.cell0(context))
    try:
        return image.current(
            _compute_api(), context,
            objects.Instance.get_by_uuid(cctxt, uuid, expected_attrs=[]),
            objects.BlockDeviceMappingList.get_by_instance_uuid(cctxt, uuid))
    except (exception.NovaException, webob.exc.HTTPBadRequest):
        return None


@functools.cache
def _compute_api() -> ty.Any:
    return nova_compute_api.API()
