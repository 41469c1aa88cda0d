# SPDX-License-Identifier: Apache-2.0

"""How much of its quota a project uses.

Placement tells what is used, so that servers which only wait do not count.
It knows nothing of servers, so that the quota of instances is left out. The
limit is the one of Nova's quota driver, that is, Nova's own or Keystone's.
"""

from __future__ import annotations

import collections.abc
import time
import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova import quota
from nova.scheduler.client import report

from cell0_rebuild import exceptions
from cell0_rebuild.wait import outages

if ty.TYPE_CHECKING:
    from nova import context as nova_context

# As quotas call them: VCPU and PCPU together, and MEMORY_MB.
_RESOURCES = ('cores', 'ram')

# Seconds. The order says who is first, and a minute does not matter to it.
_LIFE = 60

# Of a project for which Placement fails: as if its quota were used up.
_UNKNOWN = 1.0


class Shares:
    """Remembers shares for a while."""

    def __init__(
        self, context: nova_context.RequestContext,
        clock: collections.abc.Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        :param context: an administrator's.
        :param clock: seconds that never go back.
        """
        self._context, self._clock = context, clock
        self._known: dict[str, tuple[float, float]] = {}

    def of(
        self, project_ids: collections.abc.Iterable[str]
    ) -> dict[str, float]:
        """Return the share of each project; see :func:`shares`."""
        now, asked = self._clock(), set(project_ids)
        self._known = {project_id: known for project_id, known
                       in self._known.items() if known[1] > now}
        new = shares(self._context, asked - self._known.keys())
        self._known.update({
            project_id: (share, now + _LIFE)
            for project_id, share in new.items()})
        return {project_id: self._known[project_id][0]
                for project_id in asked}


def shares(
    context: nova_context.RequestContext,
    project_ids: collections.abc.Iterable[str],
) -> dict[str, float]:
    """Return the share of each project, with one request to Placement each.

    :param context: an administrator's.
    :returns: 0 if nothing is used, 1 if the quota is used up; it can be more.
    :raises NoPlacement: if it does not answer as it should, for all of them
        or for three in a row.
    """
    share_of: dict[str, float] = {}
    failures, answered = outages.Failures(), False
    error: exceptions.NoPlacement | None = None
    for project_id in sorted(set(project_ids)):
        failure = None
        try:
            share_of[project_id] = _share(context, project_id)
            answered = True
        except exceptions.NoPlacement as raised:
            share_of[project_id], failure = _UNKNOWN, raised
        error = failure or error
        if failures.record(project_id, failure is not None):
            raise failure or exceptions.NoPlacement()
    if error is not None and not answered:
        raise error
    return share_of


def _share(context: nova_context.RequestContext, project_id: str) -> float:
    """Return the largest share of any resource.

    A resource without a limit counts as unused: who gives a project no limit
    says that it takes too much from nobody.
    """
    quotas = quota.QUOTAS.get_project_quotas(
        context, project_id, usages=False)
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
