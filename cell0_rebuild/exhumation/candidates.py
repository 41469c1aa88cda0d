#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Servers that a rebuild may have left halfway, page by page.

Nothing is certain about them but that they are worth a look. No query reads
more than a page, whatever is in the databases.
"""

from __future__ import annotations

import collections.abc
import datetime
import typing as ty

from nova.compute import instance_actions
from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import objects
import sqlalchemy as sa

from cell0_rebuild.exhumation import cells
from cell0_rebuild.exhumation import mark
from cell0_rebuild import objects as our_objects

PAGE = 500

_KEPT = f'%"{our_objects.SECTION}"%'

_Page = ty.List[ty.Tuple[int, str]]
_Read = ty.Callable[[int], _Page]


def find(
    context: ty.Any, before: datetime.datetime
) -> collections.abc.Iterator[str]:
    """Return the UUID of every server that must be looked at.

    :param before: nothing that was touched since.
    """
    home = cells.cell0(context)
    cctxt = cells.targeted(context, home)
    reads: tuple[_Read, ...] = (
        lambda last: _build_requests(context, before, last),
        lambda last: _hidden(cctxt, before, last),
        lambda last: _kept(context, before, home.id, last),
        lambda last: _attempted(cctxt, before, last),
        *(_reader_of_hostless(context, cell, before)
          for cell in objects.CellMappingList.get_all(context)
          if not cell.is_cell0()))
    for read in reads:
        for page in _pages(read):
            yield from (uuid for _, uuid in page)
    for page in _pages(lambda last: _buried(cctxt, last)):
        yield from _abandoned(context, [uuid for _, uuid in page])


def _reader_of_hostless(
    context: ty.Any, cell: ty.Any, before: datetime.datetime
) -> _Read:
    target = cells.targeted(context, cell)
    return lambda last: _hostless(target, before, last)


def count_unknown(context: ty.Any) -> int:
    """Return how many buried servers are without their networks."""
    cctxt = cells.targeted(context, cells.cell0(context))
    return sum(
        len(page) - _count_kept(context, [uuid for _, uuid in page])
        for page in _pages(lambda last: _buried(cctxt, last)))


def _pages(read: _Read) -> collections.abc.Iterator[_Page]:
    last = 0
    while page := read(last):
        yield page
        last = page[-1][0]


@api_db_api.context_manager.reader
def _build_requests(
    context: ty.Any, before: datetime.datetime, last: int
) -> _Page:
    model = api_models.BuildRequest
    return _page(context.session.query(model.id, model.instance_uuid).filter(
        model.updated_at < before, model.instance.like(f'%{mark.KEY}%')),
        model, last)


@main_db_api.pick_context_manager_reader
def _hidden(context: ty.Any, before: datetime.datetime, last: int) -> _Page:
    return _page(_instances(context, before).filter(
        models.Instance.hidden.is_(True)), models.Instance, last)


@api_db_api.context_manager.reader
def _kept(
    context: ty.Any, before: datetime.datetime, cell0_id: int, last: int
) -> _Page:
    model, mapping = api_models.RequestSpec, api_models.InstanceMapping
    return _page(context.session.query(model.id, model.instance_uuid).join(
        mapping, mapping.instance_uuid == model.instance_uuid,
    ).filter(
        mapping.cell_id != cell0_id, mapping.updated_at < before,
        model.spec.like(_KEPT)), model, last)


@main_db_api.pick_context_manager_reader
def _attempted(
    context: ty.Any, before: datetime.datetime, last: int
) -> _Page:
    return _page(_instances(context, before).filter(
        models.Instance.hidden.isnot(True), _has_rebuild(context)),
        models.Instance, last)


@main_db_api.pick_context_manager_reader
def _hostless(context: ty.Any, before: datetime.datetime, last: int) -> _Page:
    return _page(_instances(context, before).filter(
        models.Instance.host.is_(None), models.Instance.launched_at.is_(None),
        _has_rebuild(context)), models.Instance, last)


def _has_rebuild(context: ty.Any) -> ty.Any:
    action = models.InstanceAction
    return context.session.query(action.id).filter(
        action.instance_uuid == models.Instance.uuid,
        action.action == instance_actions.REBUILD).exists()


@api_db_api.context_manager.reader
def _abandoned(context: ty.Any, uuids: list[str]) -> list[str]:
    mapping = api_models.InstanceMapping
    rows = context.session.query(mapping.instance_uuid).filter(
        mapping.instance_uuid.in_(uuids),
        sa.or_(mapping.cell_id.is_(None),
               mapping.queued_for_delete.is_(True)))
    return [uuid for uuid, in rows]


@main_db_api.pick_context_manager_reader
def _buried(context: ty.Any, last: int) -> _Page:
    return _page(_instances(context, None), models.Instance, last)


@api_db_api.context_manager.reader
def _count_kept(context: ty.Any, uuids: list[str]) -> int:
    model = api_models.RequestSpec
    found: int = context.session.query(model.id).filter(
        model.instance_uuid.in_(uuids), model.spec.like(_KEPT)).count()
    return found


def _instances(context: ty.Any, before: datetime.datetime | None) -> ty.Any:
    model = models.Instance
    query = context.session.query(model.id, model.uuid).filter_by(deleted=0)
    if before is not None:
        query = query.filter(
            sa.func.coalesce(model.updated_at, model.created_at) < before)
    return query


def _page(query: ty.Any, model: ty.Any, last: int) -> _Page:
    return [tuple(row) for row in query.filter(
        model.id > last).order_by(model.id).limit(PAGE)]
