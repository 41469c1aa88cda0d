# SPDX-License-Identifier: Apache-2.0

"""What Nova's databases have of the servers that may wait in cell0.

It is read in pages, with four statements a page: no object of Nova is made
for a server. What is on its way, deleted, or was ever launched is left out.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing as ty

from nova.compute import instance_actions
from nova.compute import vm_states
from nova import context as nova_context
from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova.db.main import api as main_db_api
from nova.db.main import models
from oslo_config import cfg
from oslo_serialization import jsonutils
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained_db
from cell0_rebuild import sql_text
from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait import wishes

PAGE = 500

# What Nova writes to an action one of whose events has failed.
_FAILED = 'Error'

# In place of what a flavor says that cannot be read.
_DAMAGED = 'damaged'

@dataclasses.dataclass(frozen=True)
class Buried:
    """A server that is buried in cell0 and nobody works on.

    :param created_at: UTC, without a time zone.
    :param is_shown: whether it is shown as BUILD, because it waits.
    :param metadata: its owner's, as far as it is about waiting.
    :param extra_specs: of its flavor, likewise.
    :param failures: how many rebuilds have failed.
    :param tried_at: when the last of them began, likewise UTC.
    :param can_be_rebuilt: False if its networks are unknown, because it was
        buried without this package.
    :param section: the package's section of its RequestSpec, if an operator
        has decided something; else None.
    """

    uuid: str
    project_id: str
    created_at: datetime.datetime
    is_shown: bool
    locked: bool
    metadata: dict[str, str]
    extra_specs: dict[str, str]
    failures: int
    tried_at: datetime.datetime | None
    can_be_rebuilt: bool
    section: ty.Any


def named(name: str, project_id: str) -> list[str]:
    """Return the UUIDs of the servers of a project that have a name."""
    return list(_named(
        cells.in_cell0(nova_context.get_admin_context()), name, project_id))


@main_db_api.pick_context_manager_reader
def _named(
    context: nova_context.RequestContext, name: str, project_id: str
) -> list[str]:
    model = models.Instance
    return [uuid for uuid, in context.session.query(model.uuid).filter_by(
        display_name=name, project_id=project_id, deleted=0,
    ).filter(model.hidden.isnot(True)).order_by(model.id)]


def pages(
    context: nova_context.RequestContext
) -> collections.abc.Iterator[list[Buried]]:
    """Yield all servers that are buried, oldest row first.

    :param context: an administrator's.
    """
    cell0 = cells.cell0(context)
    cctxt = cells.targeted(context, cell0)
    last = 0
    while rows := _instances(cctxt, last):
        last = rows[-1].id
        yield _page(context, cctxt, cell0.id, rows)


def _page(
    context: nova_context.RequestContext, cctxt: nova_context.RequestContext,
    cell0_id: int, rows: list[sa.engine.Row],
) -> list[Buried]:
    uuids = [row.uuid for row in rows]
    specs = _specs(context, cell0_id, uuids)
    metadata = _metadata(cctxt, uuids)
    attempts = _attempts(cctxt, uuids)
    return [
        Buried(
            row.uuid, row.project_id, row.created_at,
            row.vm_state == vm_states.BUILDING, bool(row.locked),
            metadata.get(row.uuid, {}), _extra_specs(row.flavor),
            *attempts.get(row.uuid, (0, None)), *specs[row.uuid])
        for row in rows if row.uuid in specs]


@main_db_api.pick_context_manager_reader
def _instances(
    context: nova_context.RequestContext, last: int
) -> list[sa.engine.Row]:
    model, extra = models.Instance, models.InstanceExtra
    return list(context.session.query(
        model.id, model.uuid, model.project_id, model.created_at,
        model.vm_state, model.locked,
        _if_in(f'"{wishes.FLAVOR_WAIT}"', extra.flavor).label('flavor'),
    ).outerjoin(extra, extra.instance_uuid == model.uuid).filter(
        model.id > last, model.deleted == 0, model.hidden.isnot(True),
        model.host.is_(None), model.launched_at.is_(None),
        model.task_state.is_(None), model.vm_state.in_(
            [*cfg.CONF.cell0_rebuild.vm_states, vm_states.BUILDING]),
    ).order_by(model.id).limit(PAGE))


@main_db_api.pick_context_manager_reader
def _metadata(
    context: nova_context.RequestContext, uuids: list[str]
) -> dict[str, dict[str, str]]:
    model = models.InstanceMetadata
    metadata: dict[str, dict[str, str]] = {}
    for uuid, key, value in context.session.query(
            model.instance_uuid, model.key, model.value).filter(
            model.instance_uuid.in_(uuids), model.deleted == 0,
            model.key.in_([wishes.WAIT, wishes.NICE])):
        metadata.setdefault(uuid, {})[key] = value
    return metadata


@main_db_api.pick_context_manager_reader
def _attempts(
    context: nova_context.RequestContext, uuids: list[str]
) -> dict[str, tuple[int, datetime.datetime]]:
    """Return how many rebuilds have failed, and when the last began.

    A server that one of them brought to a host is no longer buried.
    """
    model = models.InstanceAction
    rows = context.session.query(
        model.instance_uuid, sa.func.count(), sa.func.max(model.start_time),
    ).filter(
        model.instance_uuid.in_(uuids), model.deleted == 0,
        model.action == instance_actions.REBUILD, model.message == _FAILED,
    ).group_by(model.instance_uuid)
    return {uuid: (count, start) for uuid, count, start in rows}


@api_db_api.context_manager.reader
def _specs(
    context: nova_context.RequestContext, cell0_id: int, uuids: list[str]
) -> dict[str, tuple[bool, ty.Any]]:
    """Return what the RequestSpecs have of servers mapped to cell0.

    :returns: whether the networks are retained, and the section or None.
    """
    mapping, spec = api_models.InstanceMapping, api_models.RequestSpec
    rows = context.session.query(
        mapping.instance_uuid, retained_db.is_in(spec.spec),
        _if_in(f'"{operator_decisions.ENTRY}"', spec.spec),
    ).outerjoin(
        spec, spec.instance_uuid == mapping.instance_uuid,
    ).filter(
        mapping.instance_uuid.in_(uuids), mapping.cell_id == cell0_id,
        mapping.queued_for_delete.isnot(True))
    return {uuid: (bool(retained), blob and _section(blob))
            for uuid, retained, blob in rows}


def _section(blob: str) -> ty.Any:
    """Return the package's section, or the blob itself if it is damaged."""
    try:
        return our_objects.section(blob)
    except (ValueError, AttributeError):
        return blob


def _if_in(text: str, column: sa.sql.ColumnElement) -> sa.sql.ColumnElement:
    """Return a column that is NULL where it has not the text.

    Most rows have it not, and need not be sent.
    """
    return sa.case((sql_text.Contains(column, text), column))


def _extra_specs(flavor: str | None) -> dict[str, str]:
    if flavor is None:
        return {}
    try:
        extra_specs = jsonutils.loads(flavor)['cur'][
            'nova_object.data'].get('extra_specs', {})
        return {name: value for name, value in extra_specs.items()
                if name == wishes.FLAVOR_WAIT}
    except (ValueError, LookupError, TypeError, AttributeError):
        # It means nothing, and that is said.
        return {wishes.FLAVOR_WAIT: _DAMAGED}
