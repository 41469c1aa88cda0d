# SPDX-License-Identifier: Apache-2.0

"""The quota check of a rebuild.

Each way of counting already counts a part of a buried server, so each needs
another difference.
"""

from __future__ import annotations

import typing as ty

from nova import exception
from nova.limit import utils as limit_utils
from nova import objects
from oslo_config import cfg
from oslo_limit import exception as limit_exceptions
import webob.exc

from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def check(
    context: nova_context.RequestContext, instance: objects.Instance,
    request_spec: objects.RequestSpec,
) -> None:
    """Check that the quota of the owner allows the rebuild.

    :param request_spec: complete, as for a create.
    :raises HTTPForbidden: if it does not.
    """
    try:
        if limit_utils.use_unified_limits():
            nova_compat.enforce_unified_limits(
                context, instance.project_id, request_spec)
        else:
            _check_counts(context, instance)
    except (exception.OverQuota, limit_exceptions.ProjectOverLimit) as error:
        raise webob.exc.HTTPForbidden(explanation=str(error)) from error


def _check_counts(
    context: nova_context.RequestContext, instance: objects.Instance
) -> None:
    project_id, user_id = instance.project_id, instance.user_id
    deltas = {'instances': 0, 'cores': 0, 'ram': 0}
    if cfg.CONF.quota.count_usage_from_placement:
        # A buried server has no allocations.
        deltas.update(cores=instance.flavor.vcpus,
                      ram=instance.flavor.memory_mb)
    # Counting per user is for users who have a quota of their own.
    limits = objects.Quotas.get_all_by_project_and_user(
        context, project_id, user_id)
    counted_user = user_id if set(limits) & set(deltas) else None
    objects.Quotas.check_deltas(
        context, deltas, project_id, user_id=counted_user,
        check_project_id=project_id, check_user_id=counted_user)
