# SPDX-License-Identifier: Apache-2.0

"""Tells an outage from a problem of one server."""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from oslo_db import exception as db_exc
from oslo_log import log as logging
import sqlalchemy.exc

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions

# A database is away.
DATABASES: ty.Final = (
    db_exc.CantStartEngineError, db_exc.DBConnectionError,
    sqlalchemy.exc.TimeoutError)

LOG = logging.getLogger(__name__)

# Without these, nothing is known of any server.
ALL: ty.Final = (*DATABASES, exceptions.NoPlacement)


@contextlib.contextmanager
def skipped(what: str, uuid: str) -> collections.abc.Iterator[None]:
    """Go on after an error that is a problem of one server.

    :param what: cannot be written.
    :raises DBError: if the database is away.
    """
    try:
        yield
    except DATABASES:
        raise
    except db_exc.DBError as error:
        db_errors.without_values(error)
        LOG.warning('%s of the server cannot be written: %s', what,
                    exceptions.text(error), instance_uuid=uuid)
