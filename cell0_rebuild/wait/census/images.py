# SPDX-License-Identifier: Apache-2.0

"""The image that a rebuild has to name to keep it."""

from __future__ import annotations

import collections.abc
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

Finder = collections.abc.Callable[[], ty.Union[str, values.Reason, None]]
_Found = ty.TypeVar('_Found')


def finder(
    context: nova_context.RequestContext, uuid: str
) -> Finder | values.Reason:
    """Read a server in cell0; return what finds the image that it has.

    That may ask Cinder, which may take long.

    :param context: an administrator's.
    :returns: a function, or a reason why nobody can tell. The function returns
        None where no image need be named, because the package adds a
        microversion; a reason if the server has none, or Cinder does not tell
        that of its volume, or it is not known what a former rebuild left
        there.
    """
    if microversion_range.added() is not None:
        return lambda: None
    read = _or_why(uuid, lambda: _read(context, uuid))
    if isinstance(read, values.Reason):
        return read
    return functools.partial(_or_why, uuid, lambda: image.current(
        _compute_api(), context, *read))


def _read(
    context: nova_context.RequestContext, uuid: str
) -> tuple[objects.Instance, objects.BlockDeviceMappingList, bool]:
    cctxt = cells.in_cell0(context)
    bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(cctxt, uuid)
    return (objects.Instance.get_by_uuid(cctxt, uuid, expected_attrs=[]), bdms,
            retained_db.is_root_known(context, uuid))


def _or_why(
    uuid: str, find: collections.abc.Callable[[], _Found]
) -> _Found | values.Reason:
    """Return what is found, or why it is not."""
    try:
        return find()
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
