# SPDX-License-Identifier: Apache-2.0

"""What is retained of servers, and of which, in the API database."""

from __future__ import annotations

import collections.abc
import datetime
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models

from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained
from cell0_rebuild import sql_text

if ty.TYPE_CHECKING:
    from nova import context as nova_context

_RETAINED = f'"{our_objects.SECTION}"'


def is_in(spec: ty.Any) -> ty.Any:
    """Return the condition that something is retained in a stored RequestSpec.

    :param spec: the column.
    """
    return sql_text.Contains(spec, _RETAINED)


def has_attempt(spec: ty.Any) -> ty.Any:
    """Return the condition that the entry of an attempt is there, likewise.

    The text may also stand for something else.
    """
    return sql_text.Contains(spec, f'"{retained.ATTEMPT}": {{')


@api_db_api.context_manager.reader
def stored_at(
    context: nova_context.RequestContext, instance_uuid: str
) -> datetime.datetime | None:
    """Return when the RequestSpec of a server was written last.

    :returns: None if nothing is retained there, or it is gone.
    """
    model = models.RequestSpec
    row = context.session.query(model.updated_at, model.created_at).filter(
        model.instance_uuid == instance_uuid, is_in(model.spec)).first()
    return None if row is None else row.updated_at or row.created_at


@api_db_api.context_manager.reader
def among(
    context: nova_context.RequestContext,
    instance_uuids: collections.abc.Collection[str],
) -> set[str]:
    """Return which of these servers have something retained."""
    model = models.RequestSpec
    rows = context.session.query(model.instance_uuid).filter(
        model.instance_uuid.in_(instance_uuids), is_in(model.spec))
    return {uuid for uuid, in rows}


def is_retained(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether something is retained of a server, readable or not."""
    return section(context, instance_uuid) is not None


def is_root_known(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether it is known what is on the root volume of a server.

    :returns: True also if nothing is retained: then it cannot be rebuilt.
    :raises Unreadable: if what is retained cannot be read.
    """
    stored = section(context, instance_uuid)
    return stored is None or retained.root_known_of(stored)


@api_db_api.context_manager.reader
def section(
    context: nova_context.RequestContext, instance_uuid: str
) -> ty.Any:
    """Return what is retained of a server as it is stored, or None."""
    blob = context.session.query(models.RequestSpec.spec).filter_by(
        instance_uuid=instance_uuid).scalar()
    return None if blob is None else our_objects.section(blob)
