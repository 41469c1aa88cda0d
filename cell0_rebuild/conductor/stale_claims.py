# SPDX-License-Identifier: Apache-2.0

"""Claims in Placement of a rebuild that became stale.

Nova merges a claim with the allocations that the server already has (see
``nova.scheduler.client.report.SchedulerReportClient.claim_resources``). So
the claim of a stale attempt may stand beside that of the live server.
"""

from __future__ import annotations

import typing as ty

from nova.compute import vm_states
from nova import exception
from nova import objects
from oslo_log import log as logging
import tenacity

from cell0_rebuild import cells
from cell0_rebuild import exceptions
from cell0_rebuild.move import allocations
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import standing

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
    home = _settled(context, instance_uuid)
    if home is None:
        LOG.warning(
            'A rebuild that became stale has claimed resources on host '
            '%(host)s. They stay in Placement: it is not known yet where the '
            'server goes. "nova-manage placement audit" finds them.',
            {'host': selection.service_host}, instance_uuid=instance_uuid)
    elif home.is_buried:
        release_all(context, instance_uuid)
    elif home.node != selection.nodename:
        with standing.held(context, instance_uuid):
            # Somebody may have buried it again, and it was rebuilt there.
            if _home(context, instance_uuid) == home:
                report_client.remove_provider_tree_from_instance_allocation(
                    context, instance_uuid, selection.compute_node_uuid)


def release_leftovers(
    context: nova_context.RequestContext, attempt: attempts.Attempt
) -> None:
    """Delete the allocations that an earlier attempt may have left.

    Nova would merge them with the claim of this attempt.

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


def release_all(
    context: nova_context.RequestContext, instance_uuid: str
) -> None:
    """Delete the allocations of a server that is buried or deleted.

    They stay if the server is being rebuilt by now.
    """
    try:
        allocations.Resources(context).release(
            instance_uuid, standing.at_rest(context, instance_uuid))
    except exceptions.NoPlacement as error:
        # The next attempt begins with it again.
        LOG.warning('Its allocations could not be deleted: %s', error,
                    instance_uuid=instance_uuid)


class _Home(ty.NamedTuple):
    """Where a server has come to rest.

    :param node: the node that has it, None if there is none.
    """

    is_buried: bool
    node: str | None = None


def _settled(
    context: nova_context.RequestContext, instance_uuid: str
) -> _Home | None:
    """Wait for a newer attempt; None if it takes too long."""
    return tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda home: home is None),
        stop=tenacity.stop_after_delay(_PATIENCE),
        wait=tenacity.wait_fixed(1),
        retry_error_callback=lambda state: None,
    )(_home, context, instance_uuid)


def _home(
    context: nova_context.RequestContext, instance_uuid: str
) -> _Home | None:
    cell = objects.InstanceMapping.get_by_instance_uuid(
        context, instance_uuid).cell_mapping
    if cell is None:
        return None
    if cell.is_cell0():
        return _Home(True)
    try:
        instance = objects.Instance.get_by_uuid(
            cells.targeted(context, cell), instance_uuid, expected_attrs=[])
    except exception.InstanceNotFound:
        return _Home(False)
    if instance.node is None and instance.vm_state == vm_states.BUILDING:
        # The newer attempt has claimed resources that no compute has yet.
        return None
    return _Home(False, instance.node)
