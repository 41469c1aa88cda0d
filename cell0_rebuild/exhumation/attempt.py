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

"""An attempt to rebuild a buried server: what moves it, step by step.

:func:`exhume`   nova-api       cell0 -> build request; the row is hidden
:func:`begin`    nova-conductor takes the build request
:func:`hand_over`               build request -> real cell
:func:`finish`                  the row in cell0 and what was kept go
:func:`bury_again`              from any of these back to cell0
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as ty

from nova.db.main import api as main_db_api
from nova import exception
from nova import objects
from oslo_log import log as logging
from oslo_utils import timeutils
from oslo_utils import uuidutils

from cell0_rebuild import exceptions
from cell0_rebuild import objects as our_objects
from cell0_rebuild.exhumation import cells
from cell0_rebuild.exhumation import grave
from cell0_rebuild.exhumation import history
from cell0_rebuild.exhumation import mark
from cell0_rebuild.exhumation import snapshot
from cell0_rebuild.exhumation import switch
from cell0_rebuild.exhumation import watched

LOG = logging.getLogger(__name__)


@dataclasses.dataclass
class Attempt:
    """A rebuild of a buried server on its way.

    :param build_request: as the conductor took it, its instance without the
        mark.
    :param mark: the mark that was on it.
    :param last_state: what was :mod:`watched` when the build request went.
    :param left_cell: it was taken out of the real cell again.
    :param recorded: its failure is in the history of the row in cell0.
    """

    build_request: ty.Any
    mark: mark.Mark
    last_state: dict[str, ty.Any] | None = None
    left_cell: bool = False
    recorded: bool = False

    @property
    def handed_over(self) -> bool:
        """Whether the build request has ended in favour of a real cell."""
        return self.last_state is not None

    @property
    def uuid(self) -> str:
        """The UUID of the server."""
        return str(self.build_request.instance_uuid)

    @property
    def generation(self) -> str:
        """Tells this attempt from every other."""
        return self.mark.generation


def exhume(
    context: ty.Any, buried: snapshot.Buried, instance: ty.Any, bdms: ty.Any,
    spec: ty.Any, mapping: ty.Any,
) -> str:
    """Move a buried server to a build request.

    :param context: of the request.
    :param buried: the server as it was read and validated.
    :param instance: from :func:`snapshot.instance_to_build`, with the changes
        that the request makes.
    :param bdms: the block device mappings to build with.
    :param spec: the RequestSpec as it was read; what this rebuild changes of
        it is stored when a conductor takes the attempt.
    :param mapping: the InstanceMapping, which points at cell0.
    :returns: the generation of the attempt.
    :raises LostRace: if somebody else was first; nothing is changed then.
    """
    uuid, cell = buried.instance.uuid, mapping.cell_mapping
    attempt = mark.Mark(
        uuidutils.generate_uuid(),
        changed=sorted(instance.obj_what_changed()),
        baseline=watched.state(
            buried.instance, buried.bdms, buried.instance.tags),
        asked=watched.state(instance))
    attempt.put_on(instance)
    instance.obj_reset_changes(recursive=True)

    def make() -> ty.Any:
        return objects.BuildRequest(
            context, instance=instance, instance_uuid=uuid,
            project_id=instance.project_id, block_device_mappings=bdms,
            tags=snapshot.new_tags(buried.instance.tags, uuid),
            created_at=timeutils.normalize_time(buried.instance.created_at),
            updated_at=timeutils.utcnow())

    switch.to_build_request(context, uuid, cell.id, make, spec)
    try:
        if not grave.hide(cells.targeted(context, cell), uuid):
            raise exceptions.LostRace(uuid)
    except Exception:
        switch.to_cell0(context, uuid, attempt.generation, cell.id)
        raise
    return attempt.generation


def withdraw(context: ty.Any, instance_uuid: str, generation: str) -> bool:
    """Take :func:`exhume` back: no conductor has answered.

    :returns: False if a conductor has taken the attempt all the same, or the
        owner has deleted the server.
    """
    attempt = begin(context, instance_uuid, generation, 'nova-api')
    if attempt is None:
        return False
    bury_again(context, attempt)
    return True


def begin(
    context: ty.Any, instance_uuid: str, generation: str, host: str,
    spec: ty.Any = None,
) -> Attempt | None:
    """Take the build request of an attempt.

    :param host: the conductor that takes it.
    :param spec: the RequestSpec, to :func:`accept` the attempt with it.
    :returns: None if there is nothing to do: the attempt has ended, another
        conductor has it, or the owner deleted the server meanwhile.
    """
    build_request = switch.take(
        context, instance_uuid, generation, host, spec)
    if build_request is None:
        clear(context, instance_uuid)
        return None
    found = mark.of(build_request.instance)
    assert found is not None
    mark.take_off(build_request.instance)
    return Attempt(build_request, found)


def accept(context: ty.Any, attempt: Attempt, spec: ty.Any) -> None:
    """Make what the rebuild changes of the server stay if it fails."""
    attempt.mark.accepted = switch.accept(
        context, attempt.uuid, attempt.generation, spec)


def is_current(
    context: ty.Any, attempt: Attempt, cell: ty.Any = None
) -> bool:
    """Tell whether the attempt still is the current one, and refresh it.

    :param cell: the real cell that it has reached.
    """
    return bool(switch.refresh(
        context, attempt.uuid, attempt.generation, cell.id if cell else None))


def hand_over(
    context: ty.Any, attempt: Attempt, cell: ty.Any, instance: ty.Any,
    bdms: ty.Any,
) -> bool:
    """End the build request: from here on the server is in a real cell.

    Its history and what changed lately are there before that.

    :param cell: where Nova has created the server.
    :param instance: as Nova sends it to the compute, and so are the bdms.
    :returns: False if the owner deleted the server first.
    :raises LostRace: if a request that had read the server in cell0 before
        works on it there.
    """
    source = cells.targeted(context, cells.cell0(context))
    destination = cells.targeted(context, cell)
    history.copy(source, destination, attempt.uuid)
    now = _state_in_cell0(source, attempt.uuid)
    last = switch.end(context, attempt.uuid, attempt.generation)
    if last is None or now is None:
        return False
    attempt.last_state = watched.state(last.instance)
    late = {
        **watched.changes(attempt.mark.baseline, now),
        **watched.changes(watched.state(attempt.build_request.instance),
                          attempt.last_state)}
    attempt.mark.baseline = now
    _apply_late(destination, instance, bdms, late)
    return True


def finish(context: ty.Any, attempt: Attempt, cell: ty.Any) -> None:
    """Remove what a recovery would have needed: a compute has the server.

    :param cell: the real cell that the server is in.
    """
    destination = cells.targeted(context, cell)

    def carry_over(late: dict[str, ty.Any]) -> None:
        if not late:
            return
        with contextlib.suppress(exception.InstanceNotFound):
            built = snapshot.read(destination, attempt.uuid)
            watched.apply(destination, built.instance, built.bdms, late)

    grave.close(
        cells.targeted(context, cells.cell0(context)), attempt.uuid,
        attempt.mark.baseline, carry_over)
    our_objects.forget(context, attempt.uuid)


def bury_again(
    context: ty.Any, attempt: Attempt, cell: ty.Any = None,
    record: ty.Callable[[ty.Any], None] | None = None,
) -> bool:
    """Take a server back to cell0, from wherever the attempt brought it.

    It can be called again when a database failed in the middle of it.

    :param cell: the real cell in which Nova may have created it, or None.
    :param record: is called with a context targeted at cell0 to record the
        failure; after it the server shows ERROR there. Without it nothing
        tells afterwards that there was an attempt.
    :returns: False if it was not buried: the owner deleted the server
        meanwhile, or somebody else has moved it.
    :raises ObjectActionError: if a compute has the server; nothing is changed
        then.
    """
    if attempt.handed_over and not attempt.left_cell:
        if not remove_from_cell(context, attempt.uuid, cell):
            # Only its owner can have deleted it there.
            remove_grave(context, attempt.uuid)
            return False
        attempt.left_cell = True
    elif switch.is_abandoned(context, attempt.uuid):
        remove_grave(context, attempt.uuid)
        return False
    home = cells.cell0(context)
    cctxt = cells.targeted(context, home)
    if not grave.is_deleted(cctxt, attempt.uuid):
        _keep_changes(context, cctxt, attempt)
        if record is not None:
            _record(cctxt, attempt, record)
    grave.show(cctxt, attempt.uuid)
    buried = bool(switch.to_cell0(
        context, attempt.uuid, attempt.generation, home.id,
        cell.id if cell else None))
    if cell is not None and not attempt.handed_over:
        remove_from_cell(context, attempt.uuid, cell)
    if not buried:
        clear(context, attempt.uuid)
    return buried


def _record(
    cctxt: ty.Any, attempt: Attempt, record: ty.Callable[[ty.Any], None]
) -> None:
    if not attempt.recorded:
        record(cctxt)
        attempt.recorded = True
    # Not every caller is a conductor, which has named it at its start.
    history.name_rebuild(cctxt, attempt.uuid)


def remove_from_cell(
    context: ty.Any, instance_uuid: str, cell: ty.Any
) -> bool:
    """Delete a server that never got a host from a real cell, for good.

    A soft-deleted row would let ``nova-manage db archive_deleted_rows``
    remove the mapping and the RequestSpec of the server.

    :returns: False if it was not there.
    :raises ObjectActionError: if it has a host.
    """
    try:
        # Not Instance.destroy: it looks at the host that it has read.
        main_db_api.instance_destroy(
            cells.targeted(context, cell), instance_uuid, hard_delete=True,
            constraint=main_db_api.constraint(
                host=main_db_api.equal_any(None)))
    except exception.InstanceNotFound:
        return False
    except exception.ConstraintNotMet as error:
        raise exception.ObjectActionError(
            action='bury', reason='a compute has the server') from error
    return True


def clear(context: ty.Any, instance_uuid: str) -> None:
    """Remove the row in cell0 of a server that its owner deleted."""
    if switch.is_abandoned(context, instance_uuid):
        remove_grave(context, instance_uuid)


def remove_grave(context: ty.Any, instance_uuid: str) -> None:
    """Remove the row in cell0."""
    grave.remove(
        cells.targeted(context, cells.cell0(context)), instance_uuid)


def _keep_changes(context: ty.Any, cctxt: ty.Any, attempt: Attempt) -> None:
    """Give the row in cell0 what was accepted since it was hidden."""
    try:
        last = objects.BuildRequest.get_by_instance_uuid(
            context, attempt.uuid).instance
    except exception.BuildRequestNotFound:
        last = attempt.build_request.instance
    instance = objects.Instance.get_by_uuid(
        cctxt, attempt.uuid, expected_attrs=snapshot.LOADED)
    if attempt.mark.accepted:
        _keep_asked(instance, last, attempt.mark.changed)
        _keep_root(cctxt, attempt)
    watched.update(instance, watched.changes(
        attempt.mark.asked, attempt.last_state or watched.state(last)))
    if instance.obj_what_changed():
        instance.save()


def _keep_asked(
    instance: ty.Any, last: ty.Any, changed: list[str]
) -> None:
    """Give the instance what the rebuild request changed."""
    for field in changed:
        if field != 'system_metadata':
            setattr(instance, field, getattr(last, field))
    if 'system_metadata' in changed:
        instance.system_metadata = _merged(
            instance.system_metadata, last.system_metadata)


def _keep_root(cctxt: ty.Any, attempt: Attempt) -> None:
    """Have a root volume that is still to be made come from the new image."""
    asked = attempt.build_request.block_device_mappings.root_bdm()
    if asked is None or asked.volume_id or not asked.is_volume:
        return
    bdms = objects.BlockDeviceMappingList.get_by_instance_uuid(
        cctxt, attempt.uuid)
    for bdm in bdms:
        if bdm.uuid == asked.uuid and bdm.image_id != asked.image_id:
            bdm.source_type = asked.source_type
            bdm.image_id = asked.image_id
            bdm.snapshot_id = asked.snapshot_id
            bdm.save()


def _merged(
    old: dict[str, ty.Any], new: dict[str, ty.Any]
) -> dict[str, ty.Any]:
    """Return system metadata with the image properties of the new one."""
    merged = {key: value for key, value in old.items()
              if not key.startswith('image_')}
    merged.update((key, value) for key, value in new.items()
                  if key.startswith('image_'))
    return merged


def _state_in_cell0(
    context: ty.Any, instance_uuid: str
) -> dict[str, ty.Any] | None:
    """Return what is watched; None if the owner deleted the server."""
    try:
        buried = snapshot.read(context, instance_uuid)
    except exception.InstanceNotFound:
        return None
    if buried.instance.task_state is not None:
        raise exceptions.LostRace(
            f'the server is {buried.instance.task_state} in cell0')
    return watched.state(buried.instance, buried.bdms, buried.instance.tags)


def _apply_late(
    context: ty.Any, instance: ty.Any, bdms: ty.Any, late: dict[str, ty.Any]
) -> None:
    try:
        watched.apply(context, instance, bdms, late)
    except exception.InstanceNotFound:
        LOG.info('The server was deleted before a late change reached it.',
                 instance=instance)
