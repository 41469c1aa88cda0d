# SPDX-License-Identifier: Apache-2.0

"""What a rebuild claims of Placement and of Cyborg, and must give back.

Nova merges a claim with the allocations that the server already has (see
``nova.scheduler.client.report.SchedulerReportClient.claim_resources``). So
the claim of a stale attempt may stand beside that of the live server.
"""

from __future__ import annotations

import typing as ty

from nova.accelerator import cyborg
from nova.compute import task_states
from nova.compute import vm_states
from nova import exception
from nova import objects
from oslo_log import log as logging
import tenacity

from cell0_rebuild import allocations
from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import location

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova.scheduler.client import report

LOG = logging.getLogger(__name__)

# A newer attempt tells within this time where the server lives, seconds.
_PATIENCE = 60


def release(
    context: nova_context.RequestContext,
    report_client: report.SchedulerReportClient, instance_uuid: str,
    selection: objects.Selection,
) -> None:
    """Release what a stale attempt has claimed, and nothing else.

    :param selection: the host that the scheduler claimed on.
    """
    place = _settled(context, instance_uuid)
    if place is None:
        _tell_left(instance_uuid, selection,
                   'it is not known yet where the server goes')
    elif place.is_buried:
        release_all(context, instance_uuid)
    else:
        try:
            with location.held(context, instance_uuid):
                # Somebody may have buried it again, and it was rebuilt there.
                if _resting_place(context, instance_uuid) == place:
                    _release_on_host(context, report_client, instance_uuid,
                                     selection, place)
        except exceptions.NoPlacement as error:
            _tell_left(instance_uuid, selection, str(error))


def _tell_left(
    instance_uuid: str, selection: objects.Selection, reason: str
) -> None:
    LOG.warning(
        'A rebuild that became stale has claimed resources on host %(host)s. '
        'They stay in Placement: %(reason)s. "nova-manage placement audit" '
        'finds them.', {'host': selection.service_host, 'reason': reason},
        instance_uuid=instance_uuid)


def _release_on_host(
    context: nova_context.RequestContext,
    report_client: report.SchedulerReportClient, instance_uuid: str,
    selection: objects.Selection, place: _RestingPlace,
) -> None:
    # On the host of the server the two claims are one, unless the host has
    # several providers of a resource. The compute may have read both.
    if place.node != selection.nodename:
        with allocations.translated():
            report_client.remove_provider_tree_from_instance_allocation(
                context, instance_uuid, selection.compute_node_uuid)


def release_leftovers(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    spec: objects.RequestSpec,
) -> None:
    """Delete the allocations and accelerators that earlier attempts have left.

    :param spec: the RequestSpec of the server.
    :raises StaleAttempt: if this attempt is stale and finds any.
    :raises AllocationDeleteFailed: if Placement does not delete them.
    """
    try:
        allocations.Resources(context).release(
            attempt.uuid,
            attempts.held_current(context, attempt, or_deleted=True))
    except exceptions.NoPlacement as error:
        raise exception.AllocationDeleteFailed(
            consumer_uuid=attempt.uuid, error=str(error)) from error
    _release_left_accelerators(context, attempt, spec)


def _release_left_accelerators(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    spec: objects.RequestSpec,
) -> None:
    """Delete the accelerators that earlier attempts have left bound.

    A compute takes all that are bound to a server. With one that is left, the
    server would have two.
    """
    left = _bound_accelerators(context, spec)
    if left:
        with attempts.held_current(context, attempt, or_deleted=True):
            _delete_accelerators(context, left)


def release_all(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Delete the allocations of a server that is buried or deleted.

    They stay if the server is being rebuilt by now.
    """
    try:
        allocations.Resources(context).release(
            instance_uuid, location.at_rest(context, instance_uuid))
    except exceptions.NoPlacement as error:
        # The next attempt begins with it again.
        LOG.warning('Its allocations could not be deleted: %s', error,
                    instance_uuid=instance_uuid)


def release_accelerators(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    identities: list[str], is_buried: bool,
) -> None:
    """Delete the accelerators of an attempt, unless the server uses them.

    :param is_buried: this attempt has buried the server; a later attempt
        has other accelerators.
    """
    if identities and (
            is_buried or location.is_at_rest(context, attempt.uuid)):
        _delete_accelerators(context, identities)


def release_all_accelerators(
    context: nova_context.RequestContext, spec: objects.RequestSpec
) -> None:
    """Delete the accelerators of a server that is buried or deleted.

    They stay if the server is being rebuilt by now.

    :param spec: the RequestSpec of the server.
    """
    if bound := _bound_accelerators(context, spec):
        with location.at_rest(context, spec.instance_uuid) as is_at_rest:
            if is_at_rest:
                _delete_accelerators(context, bound)


def has_accelerators(spec: objects.RequestSpec) -> bool:
    """Tell whether the flavor of a server, or a port, wants accelerators."""
    networks: ty.Any = ()
    if 'requested_networks' in spec:
        networks = spec.requested_networks or ()
    return 'accel:device_profile' in spec.flavor.extra_specs or any(
        'device_profile' in network and network.device_profile
        for network in networks)


def _bound_accelerators(
    context: nova_context.RequestContext, spec: objects.RequestSpec
) -> list[str]:
    """Return the IDs of the accelerator requests of a server."""
    if not has_accelerators(spec):
        return []
    try:
        return [found['uuid'] for found in cyborg.get_client(
            context).get_arqs_for_instance(spec.instance_uuid)]
    except exception.AcceleratorRequestOpFailed:
        # So Nova's client says that there are none, too.
        return []


def _delete_accelerators(
    context: nova_context.RequestContext, identities: list[str]
) -> None:
    # A failure is logged by Nova's client.
    cyborg.get_client(context).delete_arqs_by_uuid(identities)


class _RestingPlace(ty.NamedTuple):
    """Where a server has come to rest.

    :param node: the node that has it, None if there is none.
    """

    is_buried: bool
    node: str | None = None


def _settled(
    context: nova_context.RequestContext, instance_uuid: str
) -> _RestingPlace | None:
    """Wait for a newer attempt; None if it takes too long."""
    return tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda place: place is None),
        stop=tenacity.stop_after_delay(_PATIENCE),
        wait=tenacity.wait_fixed(1),
        retry_error_callback=lambda retry_state: None,
    )(_resting_place, context, instance_uuid)


def _resting_place(
    context: nova_context.RequestContext, instance_uuid: str
) -> _RestingPlace | None:
    cell = objects.InstanceMapping.get_by_instance_uuid(
        context, instance_uuid).cell_mapping
    if cell is None:
        return None
    if cell.is_cell0():
        return _RestingPlace(True)
    try:
        instance = objects.Instance.get_by_uuid(
            cells.targeted(context, cell), instance_uuid, expected_attrs=[])
    except exception.InstanceNotFound:
        return _RestingPlace(False)
    if instance.node is None and (
            instance.vm_state == vm_states.BUILDING
            # It is on its way back, or the message has arrived all the same.
            or instance.task_state == task_states.SCHEDULING):
        # The newer attempt has claimed resources that no compute has yet.
        return None
    if instance.launched_at is not None and instance.task_state is not None:
        # It may move to another host, and have resources there already.
        return None
    return _RestingPlace(False, instance.node)
