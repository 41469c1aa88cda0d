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

"""The RequestSpec that keeps what a burial would lose.

When a server is buried, Nova forgets which networks its owner asked for, and
the rest of :class:`Kept`. We keep it, in the JSON blob that Nova stores a
RequestSpec in, beside the object's own data, where every Nova ignores it. The
object's fields and version stay Nova's, so every service and release can read
it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova import objects as nova_objects
from nova.objects import base
from nova.objects import request_spec
from oslo_serialization import jsonutils

from cell0_rebuild import statements

SECTION = 'cell0_rebuild'


@dataclasses.dataclass(frozen=True)
class Kept:
    """What is kept of a create request from burial to rebuild.

    :param requested_networks: a NetworkRequestList, or None if the owner
        asked for nothing in particular.
    :param requested_destination: a Destination, or None: the host or node
        that an administrator asked for.
    :param injected_files: ``[path, content]`` of each personality file; the
        content is None if it is not kept.
    :param written: the image that Cinder was told to write to the root
        volume; it may have failed.
    """

    requested_networks: ty.Any
    requested_destination: ty.Any = None
    injected_files: list[list[str | None]] = dataclasses.field(
        default_factory=list)
    written: str | None = None

    def to_primitive(self) -> dict[str, ty.Any]:
        """Return what is stored in the blob."""
        return {
            'requested_networks': _stored(self.requested_networks),
            'requested_destination': _stored(self.requested_destination),
            'injected_files': [list(file) for file in self.injected_files],
            'written': self.written}

    @classmethod
    def from_primitive(cls, stored: dict[str, ty.Any]) -> Kept:
        """Return what was stored by :meth:`to_primitive`."""
        return cls(
            _loaded(nova_objects.NetworkRequestList,
                    stored['requested_networks']),
            _loaded(nova_objects.Destination,
                    stored['requested_destination']),
            stored['injected_files'],
            stored.get('written'))


def _stored(value: ty.Any) -> ty.Any:
    return None if value is None else value.obj_to_primitive()


def _loaded(cls: ty.Any, stored: ty.Any) -> ty.Any:
    if stored is None:
        return None
    value = cls.obj_from_primitive(stored)
    value.obj_reset_changes(recursive=True)
    return value


@base.NovaObjectRegistry.objectify
class RequestSpec(request_spec.RequestSpec):
    """Nova's RequestSpec, with what is kept while the server is buried.

    :ivar kept: a :class:`Kept`, or None if nothing is known: the server was
        buried by a conductor without this package, or is not buried at all.
    :ivar blob: the row as it was read.
    """

    kept: Kept | None = None
    blob: str = ''

    @staticmethod
    def _from_db_object(
        context: ty.Any, spec: ty.Any, db_spec: ty.Any
    ) -> ty.Any:
        """Extend Nova's to read what is kept."""
        request_spec.RequestSpec._from_db_object(context, spec, db_spec)
        spec.blob = db_spec['spec']
        stored = _section(spec.blob)
        spec.kept = None if stored is None else Kept.from_primitive(stored)
        if (spec.kept is not None
                and spec.kept.requested_networks is not None
                and not spec.obj_attr_is_set('requested_networks')):
            spec.requested_networks = spec.kept.requested_networks
            spec.obj_reset_changes(['requested_networks'])
        return spec

    @staticmethod
    @api_db_api.context_manager.writer
    def _save_in_db(
        context: ty.Any, instance_uuid: str, updates: dict[str, ty.Any]
    ) -> ty.Any:
        """Replace Nova's to carry over what is kept.

        Nova rewrites the whole blob from the fields of the object. It is the
        row, not the object, that knows what is kept now.
        """
        db_spec = request_spec.RequestSpec._get_by_instance_uuid_from_db(
            context, instance_uuid)
        stored = _section(db_spec['spec'])
        if stored is not None and 'spec' in updates:
            updates = dict(
                updates, spec=_with_section(updates['spec'], stored))
        db_spec.update(updates)
        db_spec.save(context.session)
        return db_spec


@statements.retried
@api_db_api.context_manager.writer
def keep(
    context: ty.Any, kept: collections.abc.Mapping[str, Kept]
) -> None:
    """Store what is kept of servers that are about to be buried.

    :param kept: what to keep, by the UUID of the server.
    """
    for db_spec in _rows(context, list(kept)):
        stored = kept[db_spec['instance_uuid']].to_primitive()
        db_spec.update({'spec': _with_section(db_spec['spec'], stored)})
        db_spec.save(context.session)


@api_db_api.context_manager.writer
def keep_also(context: ty.Any, instance_uuid: str, **entries: ty.Any) -> None:
    """Store more with what is kept of a server.

    :param entries: ``mark``, of a build request that ends, or ``written``.
    """
    for db_spec in _rows(context, [instance_uuid]):
        stored = _section(db_spec['spec'])
        if stored is not None:
            db_spec.update({'spec': _with_section(
                db_spec['spec'], dict(stored, **entries))})
            db_spec.save(context.session)


@api_db_api.context_manager.reader
def kept_mark(
    context: ty.Any, instance_uuid: str
) -> dict[str, ty.Any] | None:
    """Return the mark that is stored with what is kept of a server.

    :returns: an empty one if there is none, None if nothing is kept.
    """
    for db_spec in _rows(context, [instance_uuid]):
        stored = _section(db_spec['spec'])
        if stored is not None:
            return dict(stored.get('mark', {}))
    return None


@statements.retried
@api_db_api.context_manager.writer
def forget(context: ty.Any, instance_uuid: str) -> None:
    """Remove what is kept of a server; a server without it is left alone."""
    for db_spec in _rows(context, [instance_uuid]):
        if _section(db_spec['spec']) is not None:
            db_spec.update({'spec': _with_section(db_spec['spec'], None)})
            db_spec.save(context.session)


def _rows(context: ty.Any, instance_uuids: list[str]) -> list[ty.Any]:
    column = api_models.RequestSpec.instance_uuid
    rows: list[ty.Any] = context.session.query(api_models.RequestSpec).filter(
        column.in_(instance_uuids)).all()
    return rows


def _section(blob: str) -> dict[str, ty.Any] | None:
    if SECTION not in blob:
        return None
    stored: dict[str, ty.Any] | None = jsonutils.loads(blob).get(SECTION)
    return stored


def _with_section(blob: str, stored: dict[str, ty.Any] | None) -> str:
    spec = jsonutils.loads(blob)
    spec.pop(SECTION, None)
    if stored is not None:
        spec[SECTION] = stored
    return str(jsonutils.dumps(spec))
