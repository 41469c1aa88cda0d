# SPDX-License-Identifier: Apache-2.0

"""The allocations that a buried server still has in Placement."""

from __future__ import annotations

import collections
import contextlib
import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova.scheduler.client import report
import tenacity

from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    import collections.abc

    from nova import context as nova_context
    from nova import objects

_FAILURES = (
    ks_exc.ClientException, exception.ConsumerAllocationRetrievalFailed,
    exception.PlacementAPIConnectFailure, exception.AllocationUpdateFailed,
    exception.ResourceProviderRetrievalFailed)
# What Nova's client makes of the error page of a proxy.
_NO_ANSWER = (ValueError, KeyError)
# How often Placement is asked to delete, and seconds in between.
_TRIES, _PAUSE = 4, 2


@contextlib.contextmanager
def translated() -> collections.abc.Iterator[None]:
    """Raise NoPlacement for whatever Nova's client of Placement raises."""
    try:
        yield
    except (*_FAILURES, *_NO_ANSWER) as error:
        raise exceptions.NoPlacement(str(error)) from error


def of_owner(
    context: nova_context.RequestContext, instance: objects.Instance
) -> collections.Counter[str]:
    """Return how much of each resource class its owner has for the server.

    A burial may leave what the scheduler has claimed. For the quota, Placement
    counts it as used by the project and the user that the claim names.

    :raises NoPlacement: if it does not answer.
    """
    with translated():
        found = report.report_client_singleton().get_allocs_for_consumer(
            context, instance.uuid)
    owner = found.get('project_id'), found.get('user_id')
    if owner != (instance.project_id, instance.user_id):
        return collections.Counter()
    amounts: collections.Counter[str] = collections.Counter()
    for allocation in found['allocations'].values():
        amounts.update(allocation['resources'])
    return amounts


class Resources:
    """Finds and deletes the allocations of buried servers.

    :ivar problem: why Placement cannot be asked; it is not asked again then.
    """

    def __init__(self, context: nova_context.RequestContext) -> None:
        self._context = context
        self.problem: str | None = None

    @property
    def warning(self) -> str | None:
        """The warning about the problem, if there is one."""
        if self.problem is None:
            return None
        return ('Placement cannot be asked; allocations of buried servers may '
                f'be left: {self.problem}')

    def are_there(self, instance_uuid: str) -> bool:
        """Tell whether a server has allocations; False if nobody knows."""
        try:
            return bool(self._read(instance_uuid)['allocations'])
        except exceptions.NoPlacement:
            return False

    def release(
        self, instance_uuid: str,
        guard: contextlib.AbstractContextManager[bool],
    ) -> None:
        """Delete the allocations of a server, if there are any.

        :param guard: says whether this is allowed, and keeps others from
            claiming meanwhile. The generation of a consumer does not: a
            consumer that has lost all its allocations gets the same again.
        :raises NoPlacement: if that fails.
        """
        if not self._read(instance_uuid)['allocations']:
            return
        with guard as is_allowed:
            if is_allowed:
                self._delete(instance_uuid)

    def _delete(self, instance_uuid: str) -> None:
        """Delete until Placement says that it is done.

        A request without an answer may still be on its way. So the guard must
        stay until a later request is answered.
        """
        tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(exceptions.NoPlacement),
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_fixed(_PAUSE), reraise=True,
        )(self._try_to_delete, instance_uuid)

    def _try_to_delete(self, instance_uuid: str) -> None:
        client = report.report_client_singleton()
        with translated():
            found = client.get_allocs_for_consumer(
                self._context, instance_uuid)
            if found['allocations'] and not client.put_allocations(
                    self._context, instance_uuid,
                    dict(found, allocations={})):
                raise exceptions.NoPlacement('it refuses to delete them')

    def _read(self, instance_uuid: str) -> dict[str, ty.Any]:
        if self.problem is not None:
            raise exceptions.NoPlacement(self.problem)
        try:
            with translated():
                found: dict[str, ty.Any] = (
                    report.report_client_singleton().get_allocs_for_consumer(
                        self._context, instance_uuid))
        except exceptions.NoPlacement as error:
            self.problem = str(error)
            raise
        return found
