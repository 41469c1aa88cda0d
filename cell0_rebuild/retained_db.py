# SPDX-License-Identifier: Apache-2.0

"""Which servers something is retained of, in the API database."""

from __future__ import annotations

import collections.abc
import datetime
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models

from cell0_rebuild import db_text
from cell0_rebuild import objects as our_objects

if ty.TYPE_CHECKING:
    from nova import context as nova_context

_RETAINED = f'"{our_objects.SECTION}"'


def is_in(spec: ty.Any) -> ty.Any:
    """Return the condition that something is retained in a stored RequestSpec.

    :param spec: the column.
    """
    return db_text.Contains(spec, _RETAINED)


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
