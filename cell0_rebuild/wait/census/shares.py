# SPDX-License-Identifier: Apache-2.0

"""How much of its quota a project uses.

Placement tells what is used, so that servers which only wait do not count.
It knows nothing of servers, so that the quota of instances is left out. The
limit is the one of Nova's quota driver, that is, Nova's own or Keystone's.
"""

from __future__ import annotations

import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova import quota
from nova.scheduler.client import report
from oslo_limit import exception as limit_exc

from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    from nova import context as nova_context

# As quotas call them: VCPU and PCPU together, and MEMORY_MB.
_RESOURCES = ('cores', 'ram')


def share(context: nova_context.RequestContext, project_id: str) -> float:
    """Return the share of a project, with one request to Placement.

    It is the largest one of any resource: 0 if nothing is used, 1 if the quota
    is used up; it can be more.

    A resource without a limit counts as unused: who gives a project no limit
    says that it takes too much from nobody.

    :param context: an administrator's.
    :raises NoPlacement: if it does not answer as it should, or Keystone tells
        no limits.
    """
    try:
        quotas = quota.QUOTAS.get_project_quotas(
            context, project_id, usages=False)
    except (ks_exc.ClientException, limit_exc.SessionInitError, OSError,
            LookupError, ValueError) as error:
        # oslo.limit takes any answer of Keystone for what it expects.
        raise exceptions.NoPlacement(
            f'Keystone tells no limits: {error!r}') from error
    limits = {name: quotas[name]['limit'] for name in _RESOURCES}
    used = _used(context, project_id)
    return max(0 if limit < 0 else used[name] / max(limit, 1)
               for name, limit in limits.items())


def _used(
    context: nova_context.RequestContext, project_id: str
) -> dict[str, int]:
    try:
        # It asks Placement already when it is made.
        client = report.report_client_singleton()
        counts = client.get_usages_counts_for_quota(context, project_id)
    except (ks_exc.ClientException,
            exception.UsagesRetrievalFailed) as error:
        raise exceptions.NoPlacement(str(error)) from error
    return dict(counts['project'])
