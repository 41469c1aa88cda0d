# SPDX-License-Identifier: Apache-2.0

"""Check that the quota of its owner allows a rebuild.

Each way of counting already counts a part of a buried server, so each needs
another difference.
"""

from __future__ import annotations

import typing as ty

from nova import exception
from nova.limit import utils as limit_utils
from nova import objects
from nova import quota as nova_quota
from oslo_config import cfg
from oslo_limit import exception as limit_exceptions
import webob.exc

from cell0_rebuild import allocations
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def check(
    context: nova_context.RequestContext, instance: objects.Instance,
    request_spec: objects.RequestSpec,
) -> None:
    """Check that the quota of the owner allows the rebuild.

    :param context: of the server's owner.
    :param request_spec: complete, as for a create.
    :raises HTTPForbidden: if it does not.
    :raises NoPlacement: if usage is counted there and it does not answer.
    """
    try:
        if limit_utils.use_unified_limits():
            nova_compat.enforce_unified_limits(
                context, instance.project_id, request_spec,
                allocations.of_owner(context, instance))
        else:
            _check_counts(context, instance)
    except (exception.OverQuota, limit_exceptions.ProjectOverLimit) as error:
        raise webob.exc.HTTPForbidden(explanation=str(error)) from error


def _check_counts(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    project_id, user_id = instance.project_id, instance.user_id
    deltas = {'instances': 0, **_uncounted(context, instance)}
    # Counting per user is for users who have a quota of their own.
    limits = objects.Quotas.get_all_by_project_and_user(
        context, project_id, user_id)
    counted_user = user_id if set(limits) & set(deltas) else None
    objects.Quotas.check_deltas(
        context, deltas, project_id, user_id=counted_user,
        check_project_id=project_id, check_user_id=counted_user)


def _uncounted(
    context: nova_context.RequestContext, instance: objects.Instance
) -> dict[str, int]:
    """Return the cores and memory that Nova does not count yet."""
    if not _is_in_placement(context, instance.project_id):
        return {'cores': 0, 'ram': 0}
    claimed = allocations.of_owner(context, instance)
    return {
        'cores': max(0, instance.flavor.vcpus
                     - claimed['VCPU'] - claimed['PCPU']),
        'ram': max(0, instance.flavor.memory_mb - claimed['MEMORY_MB'])}


def _is_in_placement(
    context: nova_context.RequestContext, project_id: str
) -> bool:
    """Tell whether Nova counts there what a project uses.

    It counts in its databases, whatever the option says, until the data
    migrations of all mappings of the project have been run.
    """
    return bool(
        cfg.CONF.quota.count_usage_from_placement
        and nova_quota._user_id_queued_for_delete_populated(
            context, project_id))
