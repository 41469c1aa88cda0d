# SPDX-License-Identifier: Apache-2.0

"""Tells an outage from a problem of one server."""

from __future__ import annotations

import typing as ty

from oslo_db import exception as db_exc
import sqlalchemy.exc

from cell0_rebuild import exceptions

# A database is away.
DATABASES: ty.Final = (
    db_exc.CantStartEngineError, db_exc.DBConnectionError,
    sqlalchemy.exc.TimeoutError)

# Without these, nothing is known of any server.
ALL: ty.Final = (*DATABASES, exceptions.NoPlacement)
