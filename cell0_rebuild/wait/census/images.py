# SPDX-License-Identifier: Apache-2.0

"""The image that a rebuild has to name to keep it."""

from __future__ import annotations

import functools
import typing as ty

from nova.compute import api as nova_compute_api
from nova import objects
from oslo_log import log as logging
import webob.exc

from cell0_rebuild.api import image
from cell0_rebuild.api import microversion_range
from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild import retained_db
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)


def to_name(
    context: nova_context.RequestContext, uuid: str
) -> str | values.Reason | None:
    """Return the image that a server in cell0 has.

    :param context: an administrator's.
    :returns: None where none need be named, because the package adds a
        microversion; a reason if the server has none, or Cinder does not tell
        that of its volume, or it is not known what a former rebuild left
        there.
    """
    if microversion_range.added() is not None:
        return None
    cctxt = cells.in_cell0(context)
    try:
        bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(cctxt, uuid)
        return image.current(
            _compute_api(), context,
            objects.Instance.get_by_uuid(cctxt, uuid, expected_attrs=[]),
            bdms, retained_db.is_root_known(context, uuid))
    except outages.DATABASES:
        raise
    except (webob.exc.HTTPBadRequest, webob.exc.HTTPConflict) as error:
        return values.Reason(values.Code.BLOCKED, str(error.explanation))
    except Exception as error:
        db_errors.without_values(error)
        LOG.warning('It cannot be told which image the server has: %s',
                    exceptions.text(error), instance_uuid=uuid)
        return texts.UNKNOWN_IMAGE


@functools.cache
def _compute_api() -> nova_compute_api.API:
    return nova_compute_api.API()
