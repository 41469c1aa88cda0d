# SPDX-License-Identifier: Apache-2.0

"""Update a server on its way that is just about to be handed over.

Nova reads the build request and then writes it. A hand-over deletes it in one
transaction with what it does in the cell. An update that has to wait for that
would fail, as its UPDATE finds no row. Nova looks for the server in its cell
if there is no build request when it reads.
"""

from __future__ import annotations

import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models

from cell0_rebuild import db_errors
from cell0_rebuild.move import attempt as attempts

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

_Save = ty.Callable[[ty.Any, int, dict[str, ty.Any]], ty.Any]


def save(
    wrapped: _Save, build_request: objects.BuildRequest,
    context: nova_context.RequestContext, req_id: int,
    updates: dict[str, ty.Any],
) -> ty.Any:
    """Wrap ``BuildRequest._save_in_db``: wait before it reads."""
    if 'instance' in updates and (
            attempts.is_on_its_way(build_request.instance)):
        return _save(context, wrapped, req_id, updates)
    return wrapped(context, req_id, updates)


@db_errors.retried
@api_db_api.context_manager.writer
def _save(
    context: nova_context.RequestContext, wrapped: _Save, req_id: int,
    updates: dict[str, ty.Any],
) -> ty.Any:
    context.session.query(api_models.BuildRequest.id).filter_by(
        id=req_id).with_for_update().first()
    return wrapped(context, req_id, updates)
