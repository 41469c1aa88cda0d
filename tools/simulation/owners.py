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

_Kind = tuple[int, workload.Flavor]


class _Queue:
    """Servers that wait, and whether one overtakes an older one alike."""

    def __init__(self) -> None:
        self.alike: dict[_Kind, dict[int, workload.Request]] = (
            collections.defaultdict(dict))

    def add(self, request: workload.Request) -> None:
        self.alike[request.project, request.flavor][request.number] = request

    def remove(self, request: workload.Request) -> bool:
        """Remove one, and tell whether it has overtaken another."""
        alike = self.alike[request.project, request.flavor]
        # They are in the order in which they came.
        first = next(iter(alike)) == request.number
        del alike[request.number]
        return not first


class Polling:
    """Owners delete and create until they have a host, each by himself."""

    def __init__(self) -> None:
        self._due: list[dict[workload.Flavor, list[workload.Request]]] = [
            collections.defaultdict(list) for _ in range(_POLL)]
        self._queue = _Queue()

    def begin(self, world: worlds.World) -> None:
        """Begin with nobody."""
        self._world = world
        world.at(1.0, self._tick, 1)

    def wait(self, request: workload.Request) -> None:
        """Poll from now on."""
        # Those who began together do not stay in step.
        due = self._due[request.number * _STEP % _POLL]
        due[request.flavor].append(request)
        self._queue.add(request)

    def _tick(self, second: int) -> None:
        world, due = self._world, self._due[second % _POLL]
        for flavor, requests in due.items():
            if not world.cloud.takes(flavor):
                world.counts.calls += len(requests)
                continue
            left = []
            for request in requests:
                if world.retry(request):
                    world.counts.inversions += self._queue.remove(request)
                else:
                    left.append(request)
            due[flavor] = left
        world.at(second + 1.0, self._tick, second + 1)


class Blind:
    """Somebody rebuilds all that wait again and again."""

    def __init__(self) -> None:
        self._waiting: list[workload.Request] = []
        self._queue = _Queue()

    def begin(self, world: worlds.World) -> None:
        """Begin with nobody."""
        self._world = world
        world.at(_SWEEP, self._sweep)

    def wait(self, request: workload.Request) -> None:
        """Rebuild it with the others."""
        self._waiting.append(request)
        self._queue.add(request)

    def _sweep(self) -> None:
        world, left = self._world, []
        for request in self._waiting:
            if world.retry(request):
                world.counts.inversions += self._queue.remove(request)
            else:
                left.append(request)
        self._waiting = left
        world.at(world.now + _SWEEP, self._sweep)
