# SPDX-License-Identifier: Apache-2.0

"""Keep what Nova forgets of the create request at a burial."""

from __future__ import annotations

import contextvars
import typing as ty

from nova.scheduler import utils as scheduler_utils
from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild.conductor import ec2
from cell0_rebuild.conductor import resource_claims
from cell0_rebuild.conductor import show_as_build
from cell0_rebuild import db_errors
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained as retained_form

if ty.TYPE_CHECKING:
    from nova.conductor import manager as conductor
    from nova import context as nova_context
    from nova import objects

LOG = logging.getLogger(__name__)

_retained: contextvars.ContextVar[dict[str, retained_form.Retained] | None] = (
    contextvars.ContextVar('cell0_rebuild_kept', default=None))


def schedule_and_build_instances(
    wrapped: ty.Callable[..., None], manager: conductor.ComputeTaskManager,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``ComputeTaskManager.schedule_and_build_instances``.

    It has the data to keep. The burial inside it knows which servers are
    buried, but does not have the data.
    """
    retained = _to_keep(*args, **kwargs)
    _keep_for_later(retained, *args, **kwargs)
    token = _retained.set(retained)
    try:
        wrapped(*args, **kwargs)
    finally:
        _retained.reset(token)


def bury_in_cell0(
    wrapped: ty.Callable[..., None], manager: conductor.ComputeTaskManager,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``ComputeTaskManager._bury_in_cell0``.

    The data are stored before the server can be seen in cell0. If that fails,
    the burial goes on.
    """
    retained = _retained.get()
    context, build_requests = _who(*args, **kwargs)
    uuids = [request.instance_uuid for request in build_requests]
    kept = False
    if retained is not None:
        try:
            # What is not kept now is lost, and the server with it.
            db_errors.patiently(our_objects.keep)(
                context, {uuid: retained[uuid] for uuid in uuids})
            kept = True
            for uuid in uuids:
                _warn_of_loss(uuid, retained[uuid])
        except Exception as error:
            # Its text may have the statement, and that what is to be kept.
            LOG.error(
                'The requested networks of servers %s could not be kept (%s). '
                'They are buried and cannot be rebuilt from cell0.',
                ', '.join(uuids), type(error).__name__)
    with show_as_build.shown(build_requests if kept else ()):
        wrapped(*args, **kwargs)
    for uuid in uuids:
        ec2.forget_id(uuid)


def _keep_for_later(
    retained: dict[str, retained_form.Retained],
    context: nova_context.RequestContext,
    build_requests: list[objects.BuildRequest],
    request_specs: list[objects.RequestSpec], image: dict[str, ty.Any],
    admin_password: str | None, injected_files: list[list[str]] | None,
    requested_networks: objects.NetworkRequestList | None,
    block_device_mapping: ty.Iterable[objects.BlockDeviceMapping] | None,
    tags: list[objects.TagList] | None = None,
) -> None:
    """Keep it also of a server that may fail on a compute."""
    if cfg.CONF.cell0_rebuild.rebuild == 'buried' or len(
            request_specs) != 1 or injected_files or (
            resource_claims.has_accelerators(request_specs[0])) or any(
                bdm.is_volume for bdm in block_device_mapping or ()):
        return
    uuid = request_specs[0].instance_uuid
    # Nova tells its compute so: with "retry", it may have others tried.
    properties = request_specs[0].to_legacy_filter_properties_dict()
    scheduler_utils.populate_retry(properties, uuid)
    try:
        our_objects.keep_created(context, uuid, our_objects.Created(
            retained[uuid], is_only_try='retry' not in properties))
    except Exception as error:
        LOG.warning(
            'What a rebuild needs could not be kept (%s). If the server fails '
            'on a compute, it cannot be buried.', type(error).__name__,
            instance_uuid=uuid)


def retained_of(instance_uuid: str) -> retained_form.Retained | None:
    """Return what is to be kept of a server, in the create of which we are."""
    retained = _retained.get()
    return None if retained is None else retained.get(instance_uuid)


def _to_keep(
    context: nova_context.RequestContext,
    build_requests: list[objects.BuildRequest],
    request_specs: list[objects.RequestSpec], image: dict[str, ty.Any],
    admin_password: str | None, injected_files: list[list[str]] | None,
    requested_networks: objects.NetworkRequestList | None,
    block_device_mapping: list[objects.BlockDeviceMappingList],
    tags: list[objects.TagList] | None = None,
) -> dict[str, retained_form.Retained]:
    return {spec.instance_uuid: retained_form.Retained(
        requested_networks,
        spec.requested_destination if 'requested_destination' in spec
        else None,
        _files(injected_files or [])) for spec in request_specs}


def _files(injected_files: list[list[str]]) -> list[list[str | None]]:
    persist = cfg.CONF.cell0_rebuild.personality_files == 'persist'
    return [[path, content if persist else None]
            for path, content in injected_files]


def _warn_of_loss(uuid: str, retained: retained_form.Retained) -> None:
    lost = [
        path for path, content in retained.injected_files if content is None]
    if lost:
        LOG.warning(
            'The personality files %(files)s of the server are lost: '
            '[cell0_rebuild] personality_files is %(option)s.',
            {'files': ', '.join(map(str, lost)),
             'option': cfg.CONF.cell0_rebuild.personality_files},
            instance_uuid=uuid)


def _who(
    context: nova_context.RequestContext, request_spec: objects.RequestSpec,
    exc: Exception, build_requests: list[objects.BuildRequest] | None = None,
    instances: list[objects.Instance] | None = None,
    block_device_mapping: list[objects.BlockDeviceMappingList] | None = None,
    tags: list[objects.TagList] | None = None,
) -> tuple[nova_context.RequestContext, list[objects.BuildRequest]]:
    return context, build_requests or []
