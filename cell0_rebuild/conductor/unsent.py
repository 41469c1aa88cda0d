# SPDX-License-Identifier: Apache-2.0

"""Creates that fail after the scheduling, before a compute is told of them.

Nova leaves them in the cell of the host that was found, and destroys their
RequestSpecs. doc/source/contributor/never-launched.rst tells how.
"""

from __future__ import annotations

import contextlib
import contextvars
import typing as ty

from nova.compute import vm_states
from nova import exception
from nova import objects
from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild import cells
from cell0_rebuild.conductor import burial
from cell0_rebuild.conductor import ec2
from cell0_rebuild.conductor import resource_claims
from cell0_rebuild import db_errors
from cell0_rebuild.move import into_cell0
from cell0_rebuild.move import location

if ty.TYPE_CHECKING:
    from nova.conductor import manager as conductor
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

# The server whose accelerators failed last, in this thread.
_unbound: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    'cell0_rebuild_unbound', default=None)


def create_and_bind_arq_for_instance(
    wrapped: ty.Callable[..., ty.Any], manager: conductor.ComputeTaskManager,
    context: nova_context.RequestContext, instance: objects.Instance,
    *args: ty.Any, **kwargs: ty.Any,
) -> ty.Any:
    """Wrap ``ComputeTaskManager._create_and_bind_arq_for_instance``."""
    try:
        return wrapped(context, instance, *args, **kwargs)
    except Exception:
        _unbound.set(instance.uuid)
        raise


def cleanup_build_artifacts(
    wrapped: ty.Callable[..., None], manager: conductor.ComputeTaskManager,
    context: nova_context.RequestContext, exc: Exception,
    instances: list[objects.Instance | None],
    build_requests: list[objects.BuildRequest],
    request_specs: list[objects.RequestSpec],
    block_device_mappings: objects.BlockDeviceMappingList,
    tags: objects.TagList, cell_mapping_cache: dict[str, objects.CellMapping],
) -> None:
    """Wrap ``ComputeTaskManager._cleanup_build_artifacts``.

    Nova shows all servers of a request as ERROR if one of them fails, also
    those that computes work on, and destroys their RequestSpecs.
    """
    if cfg.CONF.cell0_rebuild.rebuild == 'buried':
        wrapped(context, exc, instances, build_requests, request_specs,
                block_device_mappings, tags, cell_mapping_cache)
        return
    for instance, build_request, spec in zip(
            instances, build_requests, request_specs):
        # Nova has none for a server that is buried or deleted by now.
        if instance is None:
            continue
        try:
            cell = cell_mapping_cache[instance.uuid]
            if instance.uuid == _unbound.get():
                _bury_from_cell(manager, context, exc, instance, spec, cell)
            elif (unsent := _unsent(context, instance.uuid)) is not None:
                into_cell0.leave_cell(context, instance.uuid, cell)
                # The server gets another ID in cell0.
                ec2.forget_id(instance.uuid)
                manager._bury_in_cell0(
                    context, spec, exc, build_requests=[unsent],
                    block_device_mapping=block_device_mappings, tags=tags)
                resource_claims.release_all(context, instance.uuid)
            elif _is_deleted(context, instance.uuid):
                # It ends as a build of such a server does, later on.
                manager._delete_build_request(
                    context, build_request, instance, cell, [], [])
        except Exception as error:
            db_errors.without_values(error)
            LOG.exception(
                'The server failed after the scheduling, and could not be '
                'buried. It may stay in BUILD until it is deleted.',
                instance_uuid=instance.uuid)


def _unsent(
    context: nova_context.RequestContext, instance_uuid: str
) -> objects.BuildRequest | None:
    """Return the build request of a server of which no compute was told.

    Nova destroys it just before. It has what the owner has changed since the
    create.
    """
    try:
        return objects.BuildRequest.get_by_instance_uuid(
            context, instance_uuid)
    except exception.BuildRequestNotFound:
        return None


def _is_deleted(
    context: nova_context.RequestContext, instance_uuid: str
) -> bool:
    """Tell whether its owner deleted a server of which no compute was told.

    Nova maps a server to its cell before that.
    """
    place = location.place(context, instance_uuid)
    return place is None or (place.is_deleted and place.cell_id is None)


def _bury_from_cell(
    manager: conductor.ComputeTaskManager,
    context: nova_context.RequestContext, exc: Exception,
    instance: objects.Instance, spec: objects.RequestSpec,
    cell: objects.CellMapping,
) -> None:
    """Bury a server whose accelerators failed.

    Its owner has reached it in its cell, and sees it fail there.
    """
    with contextlib.suppress(exception.InstanceNotFound):
        manager._set_vm_state_and_notify(
            cells.targeted(context, cell), instance.uuid, 'build_instances',
            {'vm_state': vm_states.ERROR, 'task_state': None}, exc, spec)
    retained = burial.retained_of(instance.uuid)
    assert retained is not None
    if into_cell0.bury(context, instance.uuid, cell, retained,
                       spec.availability_zone):
        ec2.forget_id(instance.uuid)
    resource_claims.release_all(context, instance.uuid)
    resource_claims.release_all_accelerators(context, spec)
