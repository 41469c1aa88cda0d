# SPDX-License-Identifier: Apache-2.0

"""A scenario as it runs, second by second, whatever those do who wait."""

from __future__ import annotations

import dataclasses
import sched
import typing as ty

from tools.simulation import cloud
from tools.simulation import scenarios
from tools.simulation import workload


class Policy(ty.Protocol):
    """What is done for those who found no host."""

    def begin(self, world: World) -> None:
        """Begin at the first second."""

    def wait(self, request: workload.Request) -> None:
        """Have a server wait that was refused when it was asked for."""


@dataclasses.dataclass
class Counts:
    """What was counted.

    :param placed: servers that waited and got a host.
    :param calls: of the scheduler, for servers that wait.
    :param inversions: servers that were tried, or got a host where each tries
        for himself, before an older one of the same project and flavor.
    """

    placed: int = 0
    calls: int = 0
    inversions: int = 0


class World:
    """A cloud, its clock and what is asked of it."""

    def __init__(
        self, scenario: scenarios.Scenario, asked: workload.Workload,
        policy: Policy, spreading: bool = True,
    ) -> None:
        self.now, self.counts, self.asked = 0.0, Counts(), asked
        self.cloud = cloud.Cloud(spreading)
        self._used = [[0.0, 0.0] for _ in asked.quotas]
        self._scenario, self._policy = scenario, policy
        self._events = sched.scheduler(lambda: self.now, self._pass)

    def run(self) -> None:
        """Run to the end."""
        for host in range(self._scenario.away, self._scenario.hosts):
            self.cloud.add(host)
        for request in self.asked.steady:
            self.place(request)
        for request in self.asked.requests:
            self.at(request.at, self._ask, request)
        for host in range(self._scenario.away):
            if host < self._scenario.down:
                self.cloud.add(host, down=True)
            self.at(self._scenario.hours * workload.HOUR, self.cloud.add, host)
        self._policy.begin(self)
        end = self._scenario.until * workload.HOUR
        while not self._events.empty() and self.now < end:
            pause = self._events.run(blocking=False)
            self.now += pause or 0.0

    def at(
        self, when: float, act: ty.Callable[..., ty.Any], *arguments: ty.Any
    ) -> None:
        """Have something happen."""
        self._events.enterabs(when, 0, act, arguments)

    def place(self, request: workload.Request) -> bool:
        """Ask the scheduler for a host; the server runs if there is one."""
        host = self.cloud.schedule(request.flavor)
        if host is None:
            return False
        request.placed_at = self.now
        self._use(request, 1)
        self.at(self.now + request.lifetime, self._end, request, host)
        return True

    def retry(self, request: workload.Request) -> bool:
        """Do so for a server that waits, and count it."""
        self.counts.calls += 1
        placed = self.place(request)
        self.counts.placed += placed
        return placed

    def share(self, project: int) -> float:
        """Return which part of its quota a project uses."""
        return max(used / most for used, most in zip(
            self._used[project], self.asked.quotas[project]))

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def _ask(self, request: workload.Request) -> None:
        if not self.place(request):
            self._policy.wait(request)

    def _end(self, request: workload.Request, host: int) -> None:
        self.cloud.end(host, request.flavor)
        self._use(request, -1)

    def _use(self, request: workload.Request, sign: int) -> None:
        used = self._used[request.project]
        used[0] += sign * request.flavor.cores
        used[1] += sign * request.flavor.ram
