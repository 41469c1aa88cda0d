# SPDX-License-Identifier: Apache-2.0

"""What the API database has of servers that were buried."""

from __future__ import annotations

import collections.abc
import datetime
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models
from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild import db_text
from cell0_rebuild import objects as our_objects

if ty.TYPE_CHECKING:
    from nova import context as nova_context

_RETAINED = f'"{our_objects.SECTION}"'


class Found(ty.NamedTuple):
    """What there is of a buried server.

    :param mapped_at: when its instance mapping was written last.
    :param spec: its RequestSpec, None if there is none.
    """

    mapped_at: datetime.datetime | None
    spec: objects.RequestSpec | None


def find(
    context: nova_context.RequestContext, instance_uuid: str
) -> Found | None:
    """Look a server up.

    :returns: None if it is not mapped to cell0.
    :raises InstanceMappingNotFound: if it was deleted.
    """
    row = _read(context, instance_uuid)
    if row is None:
        raise exception.InstanceMappingNotFound(uuid=instance_uuid)
    cell_id, mapped_at, stored = row
    if cell_id != cells.cell0(context).id:
        return None
    spec = None if stored is None else objects.RequestSpec._from_db_object(
        context, objects.RequestSpec(), stored)
    return Found(mapped_at, spec)


@api_db_api.context_manager.reader
def _read(context: nova_context.RequestContext, instance_uuid: str) -> ty.Any:
    mapping, spec = models.InstanceMapping, models.RequestSpec
    # One statement for what Nova looks up by two.
    return context.session.query(
        mapping.cell_id, mapping.updated_at, spec,
    ).outerjoin(
        spec, spec.instance_uuid == mapping.instance_uuid,
    ).filter(mapping.instance_uuid == instance_uuid).first()


def has_retained(spec: ty.Any) -> ty.Any:
    """Return the condition that something is kept in a stored RequestSpec.

    :param spec: the column.
    """
    return db_text.Contains(spec, _RETAINED)


@api_db_api.context_manager.reader
def retained_at(
    context: nova_context.RequestContext, instance_uuid: str
) -> datetime.datetime | None:
    """Return when the RequestSpec of a server was written last.

    :returns: None if nothing is kept there, or it is gone.
    """
    model = models.RequestSpec
    row = context.session.query(model.updated_at, model.created_at).filter(
        model.instance_uuid == instance_uuid, has_retained(model.spec)).first()
    return None if row is None else row.updated_at or row.created_at


@api_db_api.context_manager.reader
def retained_of(
    context: nova_context.RequestContext,
    instance_uuids: collections.abc.Collection[str],
) -> set[str]:
    """Return which of these servers have something kept."""
    model = models.RequestSpec
    rows = context.session.query(model.instance_uuid).filter(
        model.instance_uuid.in_(instance_uuids), has_retained(model.spec))
    return {uuid for uuid, in rows}
