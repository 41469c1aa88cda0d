# SPDX-License-Identifier: Apache-2.0

"""``API.rebuild`` for servers that are buried in cell0.

Everything is validated before anything is changed. Every other server goes to
Nova's own rebuild, untouched.
"""

from __future__ import annotations

import dataclasses
import time
import typing as ty

from nova.compute import api as nova_compute_api
from nova import context as nova_context
from nova import exception
from nova import objects
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log as logging

from cell0_rebuild.api import changes as request_changes
from cell0_rebuild.api import create_checks
from cell0_rebuild.api import errors
from cell0_rebuild.api import image as images
from cell0_rebuild.api import microversion
from cell0_rebuild.api import never_launched
from cell0_rebuild.api import quota
from cell0_rebuild.api import scheduling
from cell0_rebuild.api import volumes
from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import location
from cell0_rebuild.move import out_of_cell0
from cell0_rebuild import nova_compat
from cell0_rebuild import phase_times
from cell0_rebuild import rpcapi

if ty.TYPE_CHECKING:
    from nova.compute import api as compute

LOG = logging.getLogger(__name__)

# Before each further try to hand over what a conductor does not see, seconds.
_PAUSES = (0.2, 0.8, 2)


def rebuild(
    wrapped: ty.Callable[..., None], compute_api: compute.API,
    context: nova_context.RequestContext, instance: objects.Instance,
    image_href: str | None, *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``API.rebuild``."""
    gate = microversion.gate()
    if gate.is_open and (found := _buried(context, instance)) is not None:
        with db_errors.hidden_values():
            _rebuild_from_cell0(compute_api, context, instance, found,
                    None if gate.keeps_image else image_href, *args, **kwargs)
        return
    if gate.is_open:
        never_launched.refuse(context, instance)
    if gate.keeps_image and instance.launched_at is not None:
        with errors.translated():
            image_href = images.of_launched(
                compute_api, context, instance,
                objects.BlockDeviceMappingList.get_by_instance_uuid(
                    context, instance.uuid))
        # With it, Nova overwrites a volume even with the image it has.
        kwargs['reimage_boot_volume'] = False
    wrapped(context, instance, image_href, *args, **kwargs)


def _buried(
    context: nova_context.RequestContext, instance: objects.Instance
) -> location.BuriedRecords | None:
    """Return what the API database has of a buried server.

    :param context: targeted at the cell that the instance was read in.
    :returns: None for any other server.
    """
    if (instance.launched_at is not None or instance.host is not None
            or instance.task_state is not None
            or instance.vm_state not in cfg.CONF.cell0_rebuild.vm_states
            or not cells.is_cell0(context)):
        return None
    with errors.translated():
        return location.buried_records(context, instance.uuid)


@dataclasses.dataclass
class _Plan:
    """A rebuild that has been validated.

    :param buried: the server as it is in cell0.
    :param instance: the instance to build.
    :param spec: its RequestSpec, complete.
    :param image: the image to build from.
    :param bdms: the block device mappings to build with.
    :param reimage_volume_id: the root volume, if Cinder has to write the
        image to it.
    :param files: ``[path, content]`` of each file to inject.
    """

    buried: cell0_copy.Buried
    instance: objects.Instance
    spec: objects.RequestSpec
    image: images.Image
    bdms: objects.BlockDeviceMappingList
    reimage_volume_id: str | None
    files: list[list[str]]


def _rebuild_from_cell0(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, found: location.BuriedRecords,
    image_href: str | None, admin_password: str,
    files_to_inject: ty.Any = None, reimage_boot_volume: bool = False,
    **changes: ty.Any,
) -> None:
    unlocked = nova_compute_api.check_instance_lock(
        lambda self, context, instance: None)
    unlocked(compute_api, context, instance)
    if files_to_inject:
        errors.conflict(
            f'Server {instance.uuid} is buried in cell0; a rebuild from there '
            f'cannot inject personality files. Use user_data.')
    timing = phase_times.Phases()
    with errors.translated():
        plan = _validate(
            compute_api, context, instance, found.spec, image_href,
            reimage_boot_volume, changes)
    timing.end('checks')
    conductor = rpcapi.RebuildAPI()
    _probe(conductor, context, plan)
    timing.end('probe')
    _move(conductor, context, plan, admin_password)
    timing.end('move')
    LOG.debug('A nova-conductor has taken the rebuild: %s', timing,
              instance_uuid=plan.instance.uuid)


def _validate(
    compute_api: compute.API, context: nova_context.RequestContext,
    read: objects.Instance, spec: objects.RequestSpec | None,
    image_href: str | None, reimages: bool, changes: dict[str, ty.Any],
) -> _Plan:
    """Check all that can be checked; nothing is changed.

    :param context: the caller's, targeted at cell0.
    :param read: the server as Nova has read it.
    :param spec: its RequestSpec, None if there is none.
    """
    buried = cell0_copy.read(context, read.uuid, read)
    create_checks.check_spec(spec, buried.instance)
    assert spec is not None
    files = create_checks.files_to_inject(buried.instance, spec.retained)
    owners = create_checks.owners_context(context, buried.instance)
    create_checks.check(compute_api, owners, buried.instance, spec)
    image = images.for_build(
        compute_api, context, buried.instance, buried.bdms, image_href,
        reimages, spec.retained.root_known)
    compute_api._check_image_arch(image=image.meta)
    instance = cell0_copy.instance_to_build(buried.instance)
    request_changes.apply(
        compute_api, create_checks.keys_context(context, buried.instance),
        instance, buried.bdms, image, changes)
    create_checks.check_certificates(compute_api, context, instance)
    create_checks.check_disk_key(instance, buried.bdms)
    bdms = cell0_copy.new_bdms(context, buried.bdms)
    reimage_volume_id = None
    if image.overwrites:
        reimage_volume_id = volumes.give_image(
            compute_api, context, buried.instance, bdms,
            ty.cast(str, image.id))
    images.encrypt_disks(compute_api, buried.instance, image, bdms)
    volumes.check(compute_api, context, instance, spec, bdms)
    oldest_compute = objects.service.get_minimum_version_all_cells(
        context, ['nova-compute'])
    nova_compat.with_oldest_compute(
        compute_api._checks_for_create_and_rebuild, oldest_compute,
        owners, image.id, image.meta, instance.flavor,
        changes.get('metadata', {}), [], bdms.root_bdm())
    create_checks.check_vtpm(context, instance, image)
    scheduling.renew(
        compute_api, owners, instance, spec, image, oldest_compute)
    quota.check(owners, instance, spec)
    return _Plan(
        buried, instance, spec, image, bdms, reimage_volume_id, files)


def _probe(
    conductor: rpcapi.RebuildAPI, context: nova_context.RequestContext,
    plan: _Plan,
) -> None:
    instance = plan.instance
    try:
        conductor.ping(context)
    except exceptions.NoConductor as error:
        LOG.warning('No nova-conductor with cell0-rebuild answers: %s', error,
                    instance=instance)
        errors.conflict(
            f'Server {instance.uuid} is in cell0, and no nova-conductor that '
            f'can rebuild it from there answers. Try again later; operators: '
            f'the conductors that nova-api talks to need cell0-rebuild, in '
            f'its version or a newer one.')


def _move(
    conductor: rpcapi.RebuildAPI, context: nova_context.RequestContext,
    plan: _Plan, admin_password: str,
) -> None:
    uuid = plan.instance.uuid
    try:
        attempt = out_of_cell0.ask(
            context, plan.buried, plan.instance, plan.bdms, plan.spec)
    except exceptions.Unreadable as error:
        create_checks.refuse_unreadable(uuid, error.reason)
    except exceptions.BurialNotEnded:
        errors.conflict(
            f'The burial of server {uuid} has not ended. Try again in a '
            f'minute. If it stays so, its nova-conductor has died, and an '
            f'operator can end the burial.')
    except exceptions.LostRace:
        errors.conflict(
            f'Server {uuid} was rebuilt, deleted or changed by another '
            f'request at the same time. Look at it and try again.')
    except db_exc.DBError:
        LOG.exception('The server could not be moved out of cell0.',
                      instance_uuid=uuid)
        errors.conflict(
            f'Server {uuid} could not be moved out of cell0: a database does '
            f'not answer. Try again later; if it stays in BUILD, an operator '
            f'can recover it.')
    # The server is in no cell now; what comes must not look into cell0.
    nova_context.set_target_cell(context, None)
    if not _hand_over(
            conductor, context, plan, attempt, admin_password):
        _withdraw(context, uuid, attempt)


def _hand_over(
    conductor: rpcapi.RebuildAPI, context: nova_context.RequestContext,
    plan: _Plan, attempt: str, admin_password: str,
) -> bool:
    """Hand the attempt to a conductor; False if none confirms it."""
    uuid, pauses = plan.instance.uuid, list(_PAUSES)
    try:
        while conductor.rebuild_instance_in_cell0(
                context, uuid, attempt, plan.spec, plan.image.meta,
                admin_password, plan.files, plan.reimage_volume_id) is False:
            # A message that came twice is answered so the second time.
            if not pauses or not out_of_cell0.is_waiting(
                    context, uuid, attempt):
                return False
            LOG.warning('A nova-conductor does not see the rebuild that it is '
                        'to take; its database may be behind.',
                        instance_uuid=uuid)
            time.sleep(pauses.pop(0))
    except exception.InvalidVolume:
        raise
    except Exception as error:
        # Also what the conductor raised before it had taken the server. Its
        # text may have the values of a statement.
        LOG.warning('No nova-conductor says that it rebuilds the server (%s).',
                    type(error).__name__, instance_uuid=uuid)
        return False
    return True


def _withdraw(
    context: nova_context.RequestContext, uuid: str, attempt: str
) -> None:
    try:
        is_as_before = out_of_cell0.withdraw(context, uuid, attempt)
        if not is_as_before and out_of_cell0.goes_on(context, uuid, attempt):
            return
        is_deleted = location.is_abandoned(context, uuid)
    except db_exc.DBError:
        LOG.exception('The server could not be moved back to cell0.',
                      instance_uuid=uuid)
        errors.conflict(
            f'Server {uuid} could not be handed to a nova-conductor, and a '
            f'database does not answer. Nothing of it is lost; if it stays in '
            f'BUILD, an operator can recover it.')
    if is_deleted:
        raise exception.InstanceNotFound(instance_id=uuid)
    what = ('It is buried in cell0 as before.' if is_as_before
            else 'Look at it.')
    errors.conflict(
        f'Server {uuid} could not be handed to a nova-conductor. {what} Try '
        f'again later.')
