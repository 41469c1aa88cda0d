# SPDX-License-Identifier: Apache-2.0

"""The RequestSpec that retains what a burial would lose.

When a server is buried, Nova forgets which networks its owner asked for, and
the rest of :class:`.Retained`. We retain it in the JSON blob that Nova stores
a RequestSpec in. It is beside the object's own data, where every Nova ignores
it. The object's fields and version stay Nova's, so every service and release
can read it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import exception
from nova.objects import base
from nova.objects import request_spec
from oslo_serialization import jsonutils
from sqlalchemy import orm

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild import retained as retained_form

if ty.TYPE_CHECKING:
    from nova import context as nova_context

SECTION = 'cell0_rebuild'

# What would be retained of a server, were it buried. It is no section, which
# marks those that are. A save of the RequestSpec may drop it.
CREATED = 'rebuild_from_cell0'
_ONLY_TRY = 'only_try'

# What a save is told, beside what is to be stored.
_READ = 'read'


@base.NovaObjectRegistry.objectify
class RequestSpec(request_spec.RequestSpec):
    """Nova's RequestSpec, with what is retained of a buried server.

    :ivar retained: what is retained, or None if nothing is known: the server
        was buried by a conductor without this package, or is not buried.
    :ivar unreadable: why what is retained could not be read, or None.
    :ivar blob: the row as it was read.
    """

    retained: retained_form.Retained | None = None
    unreadable: str | None = None
    blob: str = ''

    @staticmethod
    def _from_db_object(
        context: nova_context.RequestContext, spec: RequestSpec,
        db_spec: ty.Any,
    ) -> RequestSpec:
        """Extend Nova's to read what is retained.

        It does not fail where Nova's does not: servers are listed with it.
        """
        request_spec.RequestSpec._from_db_object(context, spec, db_spec)
        spec.blob = db_spec['spec']
        stored = section(spec.blob)
        spec.retained = spec.unreadable = None
        try:
            if stored is not None:
                spec.retained = retained_form.Retained.from_primitive(stored)
        except exceptions.Unreadable as error:
            spec.unreadable = error.reason
        if (spec.retained is not None
                and spec.retained.requested_networks is not None
                and not spec.obj_attr_is_set('requested_networks')):
            spec.requested_networks = spec.retained.requested_networks
            spec.obj_reset_changes(['requested_networks'])
        return spec

    def _get_update_primitives(self) -> ty.Any:
        """Extend Nova's to tell a save what the object was read from."""
        updates = super()._get_update_primitives()
        return dict(updates, **{_READ: self.blob}) if (
            updates and self.blob) else updates

    @staticmethod
    @db_errors.retried
    @api_db_api.context_manager.writer
    def _save_in_db(
        context: nova_context.RequestContext, instance_uuid: str,
        updates: dict[str, ty.Any],
    ) -> ty.Any:
        """Replace Nova's to carry over what is retained.

        Nova rewrites the whole blob from the fields of the object, which may
        be old. Only the row has what is retained now, and what was changed
        later. A row in which nothing is retained is written as Nova does.
        """
        updates = dict(updates)
        read = updates.pop(_READ, '')
        if SECTION not in read:
            written = _written_unless_retained(context, instance_uuid, updates)
            if written is not None:
                return written
        db_spec = _row(context, instance_uuid)
        now = db_spec['spec']
        if 'spec' in updates and (SECTION in read or SECTION in now):
            updates['spec'] = with_section(
                _merged(read or now, now, updates['spec']), section(now))
        db_spec.update(updates)
        db_spec.save(context.session)
        return db_spec


@dataclasses.dataclass(frozen=True)
class Created:
    """What is stored of a server that may fail on a compute.

    :param is_only_try: its compute may not have another host tried.
    """

    retained: retained_form.Retained
    is_only_try: bool


@db_errors.retried
@api_db_api.context_manager.writer
def keep(
    context: nova_context.RequestContext,
    retained: collections.abc.Mapping[str, retained_form.Retained],
) -> None:
    """Store what is retained of servers that are about to be buried.

    :param retained: what to store, by the UUID of the server.
    """
    for db_spec in _rows(context, list(retained)):
        stored = retained[db_spec['instance_uuid']].to_primitive()
        db_spec.update({'spec': with_section(db_spec['spec'], stored)})
        db_spec.save(context.session)


@db_errors.retried
@api_db_api.context_manager.writer
def keep_created(
    context: nova_context.RequestContext, instance_uuid: str,
    created: Created,
) -> None:
    """Store what would be retained of a server that is being built."""
    for db_spec in _rows(context, [instance_uuid]):
        db_spec.update({'spec': jsonutils.dumps({
            **jsonutils.loads(db_spec['spec']), CREATED: {
                **created.retained.to_primitive(),
                _ONLY_TRY: created.is_only_try}})})
        db_spec.save(context.session)


def created(blob: str) -> Created | None:
    """Return what was stored by :func:`keep_created`, if it is there.

    :raises Unreadable: if this package cannot read it.
    """
    stored = jsonutils.loads(blob).get(CREATED)
    return None if stored is None else Created(
        retained_form.Retained.from_primitive(stored),
        stored.get(_ONLY_TRY) is True)


@db_errors.retried
@api_db_api.context_manager.writer
def change(
    context: nova_context.RequestContext, instance_uuid: str,
    changed: ty.Callable[[ty.Any], dict[str, ty.Any]],
) -> None:
    """Change entries of what is retained of a server.

    :param changed: returns the entries to store; called while the row is
        locked, with what is stored, or None.
    :raises RequestSpecNotFound: if there is none.
    :raises Unreadable: if what is retained cannot be read.
    """
    db_spec = _row(context, instance_uuid)
    stored = section(db_spec['spec'])
    entries = changed(stored)
    retained_form.attempt_of(stored)
    db_spec.update({'spec': with_section(
        db_spec['spec'], dict(stored, **entries))})
    db_spec.save(context.session)


def _written_unless_retained(
    context: nova_context.RequestContext, instance_uuid: str,
    updates: dict[str, ty.Any],
) -> ty.Any:
    """Write a row without a lock, as Nova does.

    :returns: the row, None if something is retained there, maybe just now.
    """
    model = api_models.RequestSpec
    db_spec = context.session.query(model).filter_by(
        instance_uuid=instance_uuid).first()
    if db_spec is None or SECTION in db_spec['spec']:
        return None
    changed = {name: value for name, value in updates.items()
               if db_spec[name] != value}
    # An UPDATE meets the row as it is by then.
    if changed and not context.session.query(model).filter(
            model.id == db_spec['id'], ~model.spec.contains(SECTION),
    ).update(changed, synchronize_session=False):
        return None
    for name, value in changed.items():
        orm.attributes.set_committed_value(db_spec, name, value)
    return db_spec


def _row(context: nova_context.RequestContext, instance_uuid: str) -> ty.Any:
    db_spec = _locked(context).filter_by(instance_uuid=instance_uuid).first()
    if db_spec is None:
        raise exception.RequestSpecNotFound(instance_uuid=instance_uuid)
    return db_spec


def _rows(
    context: nova_context.RequestContext, instance_uuids: list[str]
) -> list[ty.Any]:
    column = api_models.RequestSpec.instance_uuid
    rows: list[ty.Any] = _locked(context).filter(
        column.in_(instance_uuids)).all()
    return rows


def _locked(context: nova_context.RequestContext) -> ty.Any:
    # Without a lock, MySQL shows what was there when the transaction began
    # to read; SQLAlchemy shows what it has read in it before.
    return context.session.query(
        api_models.RequestSpec).populate_existing().with_for_update()


def _merged(read: str, now: str, saved: str) -> str:
    """Return what a save stores, with what was changed since it was read.

    :param read: the blob that the object was read from.
    :param now: the one that is in the row.
    :param saved: the one that Nova would store.
    """
    before, after, merged = map(jsonutils.loads, (read, now, saved))
    old = _rewritten(before)['nova_object.data']
    mine = {name for name, value in merged['nova_object.data'].items()
            if _plain(old.get(name)) != _plain(value)}
    if after['nova_object.version'] == merged['nova_object.version']:
        merged['nova_object.data'].update({
            name: value for name, value in after['nova_object.data'].items()
            if name not in mine and _plain(old.get(name)) != _plain(value)})
    return str(jsonutils.dumps(merged))


def _rewritten(spec: dict[str, ty.Any]) -> ty.Any:
    # Another process may have written a set in another order.
    return jsonutils.loads(jsonutils.dumps(
        request_spec.RequestSpec.obj_from_primitive(spec).obj_to_primitive()))


def _plain(value: ty.Any) -> ty.Any:
    """Return a primitive without what its objects take for changed.

    An object that was stored when it was new says so for ever.
    """
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()
                if name != 'nova_object.changes'}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def section(blob: str) -> ty.Any:
    """Return what is stored in a blob, which may be anything, or None."""
    if SECTION not in blob:
        return None
    return jsonutils.loads(blob).get(SECTION)


def without_attempt(blob: str) -> ty.Any:
    """Return what a blob stands for, without the entry of an attempt."""
    spec = jsonutils.loads(blob)
    if isinstance(spec.get(SECTION), dict):
        spec[SECTION].pop(retained_form.ATTEMPT, None)
    return spec


def with_section(blob: str, stored: ty.Any) -> str:
    """Return a blob with what is retained; None for nothing."""
    spec = jsonutils.loads(blob)
    spec.pop(SECTION, None)
    if stored is not None:
        spec[SECTION] = stored
    return str(jsonutils.dumps(spec))
