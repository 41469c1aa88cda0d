# SPDX-License-Identifier: Apache-2.0

"""Which servers ask for the same, told without building their requests.

A request is made of what is stored with the server, its project and the ports
that it names. Where all that is equal, the requests are, and only one has to
be built.
"""

from __future__ import annotations

import collections.abc
import hashlib
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova.db.main import api as main_db_api
from nova.db.main import models
from oslo_serialization import jsonutils

from cell0_rebuild import cells
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained

if ty.TYPE_CHECKING:
    from nova import context as nova_context

PAGE = 500

# What differs although the same was asked for.
_IDENTITY = {'instance_uuid', 'request_id', 'created_at', 'updated_at',
             'nova_object.changes'}

# What changes when a spec is saved again. The destination is also retained.
_OF_A_SAVE = ('id', 'requested_destination')


def find(
    context: nova_context.RequestContext, uuids: collections.abc.Sequence[str]
) -> dict[str, bytes]:
    """Return a value for each server that is the same for those alike.

    It takes two statements for :data:`PAGE` servers.

    :param context: an administrator's.
    :returns: nothing for a server that is gone.
    """
    cctxt = cells.in_cell0(context)
    keys: dict[str, bytes] = {}
    for first in range(0, len(uuids), PAGE):
        page = uuids[first:first + PAGE]
        extras = _extras(cctxt, page)
        for uuid, blob in _blobs(context, page):
            if uuid in extras:
                keys[uuid] = _value(blob, *extras[uuid])
    return keys


@api_db_api.context_manager.reader
def _blobs(
    context: nova_context.RequestContext, uuids: collections.abc.Sequence[str]
) -> list[tuple[str, str]]:
    model = api_models.RequestSpec
    return [tuple(row) for row in context.session.query(
        model.instance_uuid, model.spec).filter(
        model.instance_uuid.in_(uuids))]


@main_db_api.pick_context_manager_reader
def _extras(
    context: nova_context.RequestContext, uuids: collections.abc.Sequence[str]
) -> dict[str, tuple[str | None, str | None]]:
    model = models.InstanceExtra
    return {uuid: (flavor, pci_requests) for uuid, flavor, pci_requests
            in context.session.query(
                model.instance_uuid, model.flavor, model.pci_requests).filter(
                model.instance_uuid.in_(uuids), model.deleted == 0)}


def _value(
    blob: str, flavor: str | None, pci_requests: str | None
) -> bytes:
    try:
        text = _text(blob, flavor, pci_requests)
    except (ValueError, LookupError, TypeError, AttributeError):
        # It is damaged. Whoever builds the request says so, of this server.
        text = repr((blob, flavor, pci_requests))
    return hashlib.sha256(text.encode(errors='replace')).digest()


def _text(blob: str, flavor: str | None, pci_requests: str | None) -> str:
    spec = jsonutils.loads(blob)
    asked = retained.asked_of(spec.pop(our_objects.SECTION, None))
    spec.pop(our_objects.CREATED, None)
    for name in _OF_A_SAVE:
        spec['nova_object.data'].pop(name, None)
    return str(jsonutils.dumps(
        [_plain(spec), _plain(asked), flavor,
         _plain(jsonutils.loads(pci_requests or 'null'))], sort_keys=True))


def _plain(value: ty.Any) -> ty.Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()
                if name not in _IDENTITY}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
