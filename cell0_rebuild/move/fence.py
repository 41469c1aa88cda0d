# SPDX-License-Identifier: Apache-2.0

"""What keeps others from moving a server while something is done to it."""

from __future__ import annotations

import collections.abc
import contextlib
import sys
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from oslo_db import exception as db_exc

from cell0_rebuild import db_errors

if ty.TYPE_CHECKING:
    from nova import context as nova_context


@contextlib.contextmanager
def held(
    context: nova_context.RequestContext, instance_uuid: str
) -> collections.abc.Iterator[None]:
    """Keep others from moving a server, or beginning to, meanwhile.

    Each move writes the row of its mapping, which is locked here. Whatever is
    read inside is as it was when the row was locked, or newer.
    """
    transaction = _begun(context, instance_uuid)
    try:
        yield
    except BaseException:
        transaction.__exit__(*sys.exc_info())
        raise
    # What was to be done is done, also if the database is away by now.
    with contextlib.suppress(db_exc.DBError):
        transaction.__exit__(None, None, None)


@db_errors.patiently
@db_errors.retried
def _begun(
    context: nova_context.RequestContext, instance_uuid: str
) -> contextlib.ExitStack:
    with contextlib.ExitStack() as stack:
        stack.enter_context(api_db_api.context_manager.writer.using(context))
        # The first statement, before anything is read that may change.
        context.session.query(api_models.InstanceMapping.id).filter_by(
            instance_uuid=instance_uuid).with_for_update().first()
        return stack.pop_all()
