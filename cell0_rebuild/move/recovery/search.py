# SPDX-License-Identifier: Apache-2.0

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
from oslo_log import log as logging
import sqlalchemy as sa

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import journal
from cell0_rebuild import retained_db

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

PAGE = 500

_Page = ty.List[ty.Tuple[int, str]]
_Read = ty.Callable[[int], _Page]


class Search:
    """Finds every server that must be looked at.

    If a database cannot be read, what the others have is found all the same.
    """

    def __init__(
        self, context: nova_context.RequestContext, before: datetime.datetime
    ) -> None:
        """:param before: no attempt that was worked on since."""
        self._context = context
        self._before = before
        self._cell0 = cells.cell0(context)
        self._cells = cells.real(context)
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> list[str]:
        """Which databases could not be read, and why."""
        return [f'{where}: {text}' for where, text in self._problems.items()]

    def __iter__(self) -> collections.abc.Iterator[str]:
        """Yield UUIDs, some of them more than once."""
        for where, search in self._searches():
            if where in self._problems:
                continue
            try:
                yield from search
            except Exception as error:
                LOG.exception('%s cannot be searched.', where)
                self._problems[where] = exceptions.text(error)

    def _searches(
        self
    ) -> collections.abc.Iterator[tuple[str, collections.abc.Iterator[str]]]:
        api, cell0 = cells.API, cells.name(self._cell0)
        yield api, self._found(_build_requests, None, self._before)
        yield cell0, self._found(_hidden, self._cell0)
        yield api, self._found(_retained, None, self._before, self._cell0.id)
        yield cell0, self._found(_attempted, self._cell0)
        if api in self._problems:
            return
        for cell in self._cells:
            yield cells.name(cell), self._in_real_cell(cell)
        yield cell0, self._abandoned()

    def _found(
        self, read: ty.Callable[..., _Page], cell: objects.CellMapping | None,
        *args: ty.Any,
    ) -> collections.abc.Iterator[str]:
        """Yield what a function reads from a cell or, for None, without."""
        context = self._context if cell is None else cells.targeted(
            self._context, cell)
        for page in _pages(lambda last: read(context, *args, last)):
            yield from (uuid for _, uuid in page)

    def _in_real_cell(
        self, cell: objects.CellMapping
    ) -> collections.abc.Iterator[str]:
        cctxt = cells.targeted(self._context, cell)
        for page in _pages(lambda last: _hostless(cctxt, last)):
            uuids = [uuid for _, uuid in page]
            yield from retained_db.among(self._context, uuids)
            yield from _elsewhere(self._context, uuids, cell.id)

    def _abandoned(self) -> collections.abc.Iterator[str]:
        cctxt = cells.targeted(self._context, self._cell0)
        for page in _pages(lambda last: _buried(cctxt, last)):
            yield from _abandoned(
                self._context, [uuid for _, uuid in page])


def count_unknown(context: nova_context.RequestContext) -> int:
    """Return how many buried servers are without their networks."""
    cctxt = cells.in_cell0(context)
    return sum(
        len(page) - len(
            retained_db.among(context, [uuid for _, uuid in page]))
        for page in _pages(lambda last: _buried(cctxt, last)))


def _pages(read: _Read) -> collections.abc.Iterator[_Page]:
    last = 0
    while page := read(last):
        yield page
        last = page[-1][0]


@api_db_api.context_manager.reader
def _build_requests(
    context: nova_context.RequestContext, before: datetime.datetime, last: int
) -> _Page:
    model, mapping = api_models.BuildRequest, api_models.InstanceMapping
    return _page(context.session.query(
        model.id, model.instance_uuid,
    ).join(
        mapping, mapping.instance_uuid == model.instance_uuid,
    ).filter(
        mapping.updated_at < before,
        model.instance.like(f'%{journal.MARK}%')), model, last)


@main_db_api.pick_context_manager_reader
def _hidden(context: nova_context.RequestContext, last: int) -> _Page:
    return _page(_instances(context).filter(
        models.Instance.hidden.is_(True)), models.Instance, last)


@api_db_api.context_manager.reader
def _retained(
    context: nova_context.RequestContext, before: datetime.datetime,
    cell0_id: int, last: int,
) -> _Page:
    model, mapping = api_models.RequestSpec, api_models.InstanceMapping
    touched = sa.func.coalesce(
        mapping.updated_at, mapping.created_at, model.created_at)
    return _page(context.session.query(
        model.id, model.instance_uuid,
    ).outerjoin(
        mapping, mapping.instance_uuid == model.instance_uuid,
    ).filter(
        # In no cell, or without a mapping.
        sa.or_(mapping.cell_id.is_(None), mapping.cell_id != cell0_id,
               retained_db.has_attempt(model.spec)),
        touched < before, retained_db.is_in(model.spec)), model, last)


@main_db_api.pick_context_manager_reader
def _attempted(context: nova_context.RequestContext, last: int) -> _Page:
    return _page(_instances(context).filter(
        models.Instance.hidden.isnot(True), _has_rebuild(context)),
        models.Instance, last)


@main_db_api.pick_context_manager_reader
def _hostless(context: nova_context.RequestContext, last: int) -> _Page:
    return _page(_instances(context).filter(
        models.Instance.host.is_(None), models.Instance.launched_at.is_(None),
    ), models.Instance, last)


@api_db_api.context_manager.reader
def _elsewhere(
    context: nova_context.RequestContext, uuids: list[str], cell_id: int
) -> list[str]:
    mapping = api_models.InstanceMapping
    rows = context.session.query(mapping.instance_uuid).filter(
        mapping.instance_uuid.in_(uuids), mapping.cell_id != cell_id)
    return [uuid for uuid, in rows]


def _has_rebuild(context: nova_context.RequestContext) -> ty.Any:
    action = models.InstanceAction
    return context.session.query(action.id).filter(
        action.instance_uuid == models.Instance.uuid,
        action.action == instance_actions.REBUILD).exists()


@api_db_api.context_manager.reader
def _abandoned(
    context: nova_context.RequestContext, uuids: list[str]
) -> list[str]:
    mapping = api_models.InstanceMapping
    rows = context.session.query(mapping.instance_uuid).filter(
        mapping.instance_uuid.in_(uuids),
        sa.or_(mapping.cell_id.is_(None),
               mapping.queued_for_delete.is_(True)))
    return [uuid for uuid, in rows]


@main_db_api.pick_context_manager_reader
def _buried(context: nova_context.RequestContext, last: int) -> _Page:
    return _page(_instances(context), models.Instance, last)


def _instances(context: nova_context.RequestContext) -> ty.Any:
    # Their age says nothing: updates by the owner refresh it.
    return context.session.query(
        models.Instance.id, models.Instance.uuid).filter_by(deleted=0)


def _page(query: ty.Any, model: ty.Any, last: int) -> _Page:
    return [tuple(row) for row in query.filter(
        model.id > last).order_by(model.id).limit(PAGE)]
