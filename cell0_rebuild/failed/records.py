# SPDX-License-Identifier: Apache-2.0

"""What is stored of a server that has failed in a real cell."""

from __future__ import annotations

import dataclasses

from nova import context as nova_context
from nova import exception
from nova import objects

from cell0_rebuild import cells
from cell0_rebuild.failed import verdict
from cell0_rebuild.move import location
from cell0_rebuild import nova_internals
from cell0_rebuild import objects as our_objects
from cell0_rebuild import retained as retained_form


class NotFailed(Exception):
    """It is no server that has failed in a real cell; the text says why."""


@dataclasses.dataclass(frozen=True)
class Record:
    """A server, and what is known of it.

    :param cell: the real cell that it is mapped to.
    :param retained: what a rebuild needs, if it is kept.
    """

    cell: objects.CellMapping
    instance: objects.Instance
    known: verdict.Failed
    retained: retained_form.Retained | None
    availability_zone: str | None

    @property
    def host(self) -> str:
        """The host of its last build."""
        return str(self.known.last_builds[-1].host)


def read(context: nova_context.RequestContext, instance_uuid: str) -> Record:
    """Look a server up.

    :raises NotFailed: if it is not in a real cell.
    :raises Unreadable: if this package cannot read what is kept of it.
    """
    place = location.place(context, instance_uuid)
    if place is None or place.is_deleted:
        raise NotFailed('There is no such server')
    if place.build_request_id is not None:
        raise NotFailed(
            'It is being scheduled. If that lasts, run "cell0-rebuild-manage '
            'recover"')
    if place.in_cell0:
        raise NotFailed('It is buried already')
    cell = objects.InstanceMapping.get_by_instance_uuid(
        context, instance_uuid).cell_mapping
    in_cell = cells.targeted(context, cell)
    try:
        instance = objects.Instance.get_by_uuid(in_cell, instance_uuid)
    except exception.InstanceNotFound as error:
        raise NotFailed('There is no such server') from error
    created, zone = _asked(context, instance_uuid)
    actions = _actions(in_cell, instance_uuid)
    fault = objects.InstanceFault.get_latest_for_instance(
        in_cell, instance_uuid)
    builds = [build for action in actions for build in action.builds]
    return Record(cell, instance, verdict.Failed(
        has_entry=place.entry is not None,
        launched=instance.launched_at is not None,
        vm_state=instance.vm_state, task_state=instance.task_state,
        host=instance.host or instance.node, actions=actions,
        failed_at=None if fault is None else fault.created_at,
        has_volumes=any(
            bdm.is_volume for bdm in
            objects.BlockDeviceMappingList.get_by_instance_uuid(
                in_cell, instance_uuid)),
        is_only_try=(created is not None and created.is_only_try) or (
            fault is not None and fault.message.startswith(
                _aborted(instance_uuid))),
        is_retained=created is not None,
        hypervisor=_hypervisor(in_cell, builds[-1].host) if builds else None,
    ), None if created is None else created.retained, zone)


def _aborted(instance_uuid: str) -> str:
    """Return what the fault begins with that a compute records at last."""
    return str(exception.BuildAbortException.msg_fmt % {
        'instance_uuid': instance_uuid, 'reason': ''})


def _asked(
    context: nova_context.RequestContext, instance_uuid: str
) -> tuple[our_objects.Created | None, str | None]:
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(
            context, instance_uuid)
    except exception.RequestSpecNotFound:
        return None, None
    return our_objects.created(spec.blob), spec.availability_zone


def _actions(
    context: nova_context.RequestContext, instance_uuid: str
) -> tuple[verdict.Action, ...]:
    found = objects.InstanceActionList.get_by_instance_uuid(
        context, instance_uuid)
    return tuple(
        verdict.Action(action.action, tuple(
            verdict.Build(
                event.host, event.start_time, event.result is not None)
            for event in sorted(
                objects.InstanceActionEventList.get_by_action(
                    context, action.id), key=lambda event: event.id)
            if event.event == nova_internals.BUILD_EVENT))
        for action in sorted(found, key=lambda action: action.id))


def _hypervisor(
    context: nova_context.RequestContext, host: str | None
) -> str | None:
    try:
        [node] = objects.ComputeNodeList.get_all_by_host(context, host)
    except (exception.ComputeHostNotFound, ValueError):
        return None
    return str(node.hypervisor_type)
