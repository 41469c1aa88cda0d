#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What a server that is buried still has in Placement."""

from __future__ import annotations

import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova import exception
from nova.scheduler.client import report

from cell0_rebuild import exceptions

_FAILURES = (
    ks_exc.ClientException, exception.ConsumerAllocationRetrievalFailed,
    exception.PlacementAPIConnectFailure, exception.AllocationUpdateFailed)


class Resources:
    """Finds and deletes the allocations of buried servers.

    :ivar problem: why Placement cannot be asked; it is not asked again then.
    """

    def __init__(self, context: ty.Any) -> None:
        self._context = context
        self.problem: str | None = None

    @property
    def warning(self) -> str | None:
        """What is to be said of the problem, if there is one."""
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
        self, instance_uuid: str, still: ty.Callable[[], bool]
    ) -> None:
        """Delete the allocations of a server.

        A claim that is made meanwhile stays.

        :param still: whether the server is buried, or deleted, still.
        :raises NoPlacement: if that fails.
        """
        found = self._read(instance_uuid)
        # After the reading: a rebuild that begins now changes what was read,
        # and Placement refuses the deletion.
        if not found['allocations'] or not still():
            return
        try:
            report.report_client_singleton().put_allocations(
                self._context, instance_uuid, dict(found, allocations={}))
        except _FAILURES as error:
            raise exceptions.NoPlacement(str(error)) from error

    def _read(self, instance_uuid: str) -> dict[str, ty.Any]:
        if self.problem is not None:
            raise exceptions.NoPlacement(self.problem)
        try:
            found: dict[str, ty.Any] = (
                report.report_client_singleton().get_allocs_for_consumer(
                    self._context, instance_uuid))
        except _FAILURES as error:
            self.problem = str(error)
            raise exceptions.NoPlacement(self.problem) from error
        return found
