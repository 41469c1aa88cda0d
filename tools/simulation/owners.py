# SPDX-License-Identifier: Apache-2.0

"""What is done today for servers that found no host."""

from __future__ import annotations

import collections

from tools.simulation import workload
from tools.simulation import world as worlds

# Seconds after which an owner deletes the server and creates it again.
_POLL = 120
# Has no factor in common with that.
_STEP = 7919
# Seconds after which all that wait are rebuilt, the oldest first.
_SWEEP = 300


class _Owners:
    """Servers that wait, and whether one overtakes an older one alike."""

    def __init__(self) -> None:
        self._alike: dict[
            tuple[int, workload.Flavor], dict[int, workload.Request]
        ] = collections.defaultdict(dict)

    def begin(self, world: worlds.World) -> None:
        """Begin with nobody."""
        self._world = world

    def wait(self, request: workload.Request) -> None:
        """Have a server wait."""
        self._alike[request.project, request.flavor][request.number] = request

    def _retry(
        self, requests: list[workload.Request]
    ) -> list[workload.Request]:
        """Try servers, and return those that still have no host."""
        left = []
        for request in requests:
            if not self._world.retry(request):
                left.append(request)
                continue
            alike = self._alike[request.project, request.flavor]
            # They are in the order in which they came.
            overtakes = next(iter(alike)) != request.number
            self._world.counts.inversions += overtakes
            del alike[request.number]
        return left


class Polling(_Owners):
    """Owners delete and create until they have a host, each by himself."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[dict[workload.Flavor, list[workload.Request]]] = [
            collections.defaultdict(list) for _ in range(_POLL)]

    def begin(self, world: worlds.World) -> None:
        super().begin(world)
        world.at(1.0, self._tick, 1)

    def wait(self, request: workload.Request) -> None:
        super().wait(request)
        # Those who began together do not stay in step.
        due = self._due[request.number * _STEP % _POLL]
        due[request.flavor].append(request)

    def _tick(self, second: int) -> None:
        world, due = self._world, self._due[second % _POLL]
        for flavor, requests in due.items():
            if world.cloud.takes(flavor):
                due[flavor] = self._retry(requests)
            else:
                world.counts.calls += len(requests)
        world.at(second + 1.0, self._tick, second + 1)


class Blind(_Owners):
    """Somebody rebuilds all that wait again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[workload.Request] = []

    def begin(self, world: worlds.World) -> None:
        super().begin(world)
        world.at(_SWEEP, self._sweep)

    def wait(self, request: workload.Request) -> None:
        super().wait(request)
        self._waiting.append(request)

    def _sweep(self) -> None:
        self._waiting = self._retry(self._waiting)
        self._world.at(self._world.now + _SWEEP, self._sweep)
