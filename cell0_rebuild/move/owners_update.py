# SPDX-License-Identifier: Apache-2.0

"""An update by the owner of a server that is on its way.

Nova reads the build request, changes it and writes it whole. What a conductor
or a recovery has noted on it in between stays.
"""

from __future__ import annotations

import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from oslo_serialization import jsonutils

from cell0_rebuild import db_errors
from cell0_rebuild.move import attempt_record

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

_Save = ty.Callable[[ty.Any, int, dict[str, ty.Any]], ty.Any]


def save(
    wrapped: _Save, build_request: objects.BuildRequest,
    context: nova_context.RequestContext, req_id: int,
    updates: dict[str, ty.Any],
) -> ty.Any:
    """Wrap the save of a build request."""
    if not _is_update(context, build_request, updates):
        return wrapped(context, req_id, updates)
    return _save(context, wrapped, req_id, updates)


def _is_update(
    context: nova_context.RequestContext, build_request: objects.BuildRequest,
    updates: dict[str, ty.Any],
) -> bool:
    """Tell whether a record is written without a lock on it."""
    # A step of a move reads and writes it in one transaction.
    is_step = getattr(context, 'session', None) is not None
    return ('instance' in updates and not is_step
            and attempt_record.is_on(build_request.instance))


@db_errors.retried
@api_db_api.context_manager.writer
def _save(
    context: nova_context.RequestContext, wrapped: _Save, req_id: int,
    updates: dict[str, ty.Any],
) -> ty.Any:
    row = context.session.query(api_models.BuildRequest).filter_by(
        id=req_id).with_for_update().first()
    # Without a row, Nova's save says so.
    if row is not None and row.instance is not None:
        updates = dict(updates, instance=_with_record_of(
            row.instance, updates['instance']))
    return wrapped(context, req_id, updates)


def _with_record_of(now: str, saved: str) -> str:
    """Return what is saved, with the record that is stored by now."""
    stored, instance = jsonutils.loads(now), jsonutils.loads(saved)
    is_copied = attempt_record.copy(stored, instance)
    return str(jsonutils.dumps(instance)) if is_copied else saved
