# SPDX-License-Identifier: Apache-2.0

"""Who asks for what, and for how long.

Sizes, lifetimes and batches are those of the trace AzurePublicDatasetV1 of
"Resource Central" (Cortez and others, SOSP 2017): the servers of one company
in one region, as in a private cloud. They are read from the figures of its
analysis. What is not there is assumed, and said to be.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
import random
import statistics
import typing as ty

HOUR = 3600.0

# Points of an inverse distribution: the part of all, and its value.
_Points = tuple[tuple[float, float], ...]

# Hours. Nothing below 0.55 can be read. The trace ends after 30 days; so many
# live that long that the mean is that of the trace, 51.8 hours.
_LIFETIMES: _Points = (
    (0.0, 0.1), (0.55, 1), (0.65, 3), (0.7, 5), (0.78, 10), (0.86, 18),
    (0.88, 25), (0.9, 45), (0.928, 208), (0.946, 720), (1.0, 720))

# Servers that are asked for at once; more than 50 are taken for 50.
_BATCHES: _Points = (
    (0.0, 1), (0.2, 1), (0.47, 2), (0.62, 4), (0.76, 10), (0.86, 20),
    (0.9, 30), (0.94, 50), (1.0, 50))

# Assumed: the sizes of projects follow Zipf's law.
_PROJECTS = 200
# Assumed: by what a project has on the mean, and for a large batch more.
_QUOTA_BY_USE, _QUOTA_MORE = 2.25, 50
# The largest projects ask for all that their quotas leave.
_FLOODING = 20


@dataclasses.dataclass(frozen=True)
class Flavor:
    """What a server takes.

    :param ram: GiB.
    """

    cores: int
    ram: float


# In percent of servers.
FLAVORS = {
    Flavor(1, 0.75): 2, Flavor(1, 1.75): 48, Flavor(2, 3.5): 25,
    Flavor(4, 7): 11, Flavor(8, 14): 10, Flavor(8, 56): 4}


@dataclasses.dataclass(eq=False)
class Request:
    """A server that is asked for.

    :param at: seconds from the beginning on.
    :param lifetime: seconds from the time on at which it has a host.
    :param placed_at: when it got one.
    """

    number: int
    project: int
    flavor: Flavor
    at: float
    lifetime: float
    placed_at: float | None = None


@dataclasses.dataclass(frozen=True)
class Workload:
    """All that is asked for.

    :param steady: runs at the beginning, each for the rest of its time.
    :param requests: the first first.
    :param quotas: cores and GiB of each project.
    :param sizes: how many servers each project has on the mean.
    :param flooding: the projects that ask for much more than usual.
    """

    steady: list[Request]
    requests: list[Request]
    quotas: list[tuple[float, float]]
    sizes: list[float]
    flooding: frozenset[int]


class Maker:
    """Draws servers; the same seed gives the same ones."""

    def __init__(self, seed: int, slower: float) -> None:
        """:param slower: how many times longer each lives than in the trace.
        """
        self._random = random.Random(seed)
        self._slower, self._number = slower, 0
        self._weights = [1 / rank for rank in range(1, _PROJECTS + 1)]
        self._flavors = self._random.choices(
            list(FLAVORS), list(FLAVORS.values()), k=1 << 16)
        # Cores and GiB.
        self._mean = (statistics.fmean(one.cores for one in self._flavors),
                      statistics.fmean(one.ram for one in self._flavors))
        self._lifetimes = [
            self._of(_LIFETIMES) * HOUR * slower for _ in range(1 << 16)]

    def make(
        self, cores: float, ram: float, hours: float, flood: int,
        floods: ty.Sequence[float],
    ) -> Workload:
        """Return a workload.

        :param cores: that run at the beginning.
        :param ram: GiB, likewise; whatever is reached first.
        :param hours: how long new ones come, as many as end.
        :param flood: how many servers are asked for beside that.
        :param floods: when, in seconds: equal parts of them.
        """
        steady = self._steady(cores, ram)
        total = sum(self._weights)
        sizes = [weight / total * len(steady) for weight in self._weights]
        flooding = range(_FLOODING)
        requests = list(self._regular(len(steady), hours * HOUR))
        whole = sum(sizes[project] for project in flooding)
        for at in floods:
            for project in flooding:
                requests += self._batch(project, at, round(
                    flood * sizes[project] / whole / len(floods)))
        return Workload(
            steady, sorted(requests, key=lambda one: one.at),
            [self._quota(size) for size in sizes],
            sizes, frozenset(flooding))

    def _steady(self, cores: float, ram: float) -> list[Request]:
        """Return what runs: long lives are met more often than short ones."""
        found: list[Request] = []
        lifetimes = self._random.choices(
            self._lifetimes, self._lifetimes, k=1 << 16)
        while cores > 0 and ram > 0:
            one = self._one(self._project(), 0.0)
            one.lifetime = (
                lifetimes[len(found) % len(lifetimes)] * self._random.random())
            cores, ram = cores - one.flavor.cores, ram - one.flavor.ram
            found.append(one)
        return found

    def _regular(self, servers: int, seconds: float) -> ty.Iterator[Request]:
        """Yield batches, with as many servers as end in the same time."""
        sizes = [round(self._of(_BATCHES)) for _ in range(1 << 14)]
        lifetime = sum(self._lifetimes) / len(self._lifetimes)
        pause = sum(sizes) / len(sizes) * lifetime / servers
        at = self._random.expovariate(1 / pause)
        while at < seconds:
            yield from self._batch(
                self._project(), at, self._random.choice(sizes))
            at += self._random.expovariate(1 / pause)

    def _batch(
        self, project: int, at: float, count: int
    ) -> ty.Iterator[Request]:
        for number in range(count):
            # nova-api makes one after the other.
            yield self._one(project, at + number * 0.01)

    def _one(self, project: int, at: float) -> Request:
        self._number += 1
        return Request(
            self._number, project, self._random.choice(self._flavors), at,
            self._random.choice(self._lifetimes))

    def _project(self) -> int:
        [found] = self._random.choices(range(_PROJECTS), self._weights)
        return found

    def _quota(self, size: float) -> tuple[float, float]:
        """Return what a project may use."""
        servers = _QUOTA_BY_USE * size + _QUOTA_MORE
        return servers * self._mean[0], servers * self._mean[1]

    def _of(self, points: _Points) -> float:
        """Draw from a distribution; between its points it is log-linear."""
        part = self._random.random()
        after = bisect.bisect_right(points, (part, math.inf))
        (left, low), (right, high) = points[after - 1:after + 1]
        return low * (high / low) ** ((part - left) / (right - left))
