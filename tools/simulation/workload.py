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
import itertools
import math
import random
import statistics
import typing as ty

HOUR = 3600.0

# Assumed: all hosts are alike, with these cores and GiB.
CORES, RAM = 48, 160.0

# Points of inverse distributions: the part of all, and its value. The first
# are hours. Nothing below 0.55 can be read. The trace ends after 30 days; so
# many live that long that the mean is that of the trace, 51.8 hours.
_LIFETIMES = (
    (0.0, 0.1), (0.55, 1), (0.65, 3), (0.7, 5), (0.78, 10), (0.86, 18),
    (0.88, 25), (0.9, 45), (0.928, 208), (0.946, 720), (1.0, 720))

# Servers that are asked for at once; more than 50 are taken for 50.
_BATCHES = (
    (0.0, 1), (0.2, 1), (0.47, 2), (0.62, 4), (0.76, 10), (0.86, 20),
    (0.9, 30), (0.94, 50), (1.0, 50))

# Assumed: the sizes of projects follow Zipf's law.
_WEIGHTS = [1 / rank for rank in range(1, 201)]
# Assumed: by what a project has on the mean, and for a large batch more.
_QUOTA_BY_USE, _QUOTA_MORE = 2.25, 50
# How many are drawn in advance.
_MANY = 1 << 16


class Flavor(ty.NamedTuple):
    """What a server takes, in cores and GiB."""

    cores: int
    ram: float


# In percent of servers.
FLAVORS = {
    Flavor(1, 0.75): 2, Flavor(1, 1.75): 48, Flavor(2, 3.5): 25,
    Flavor(4, 7): 11, Flavor(8, 14): 10, Flavor(8, 56): 4}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """What happens to a cloud.

    :param hosts: how many it has.
    :param away: how many of them are away at first, without servers.
    :param load: the part of the other hosts that is in use at the beginning.
    :param flood: how many servers the largest projects ask for in addition.
    :param floods: at which hours, in equal parts.
    :param hours: how long servers are asked for, and hosts are away.
    :param until: the hour at which it ends.
    :param slower: how many times longer servers live than in the trace.
    :param down: how many of those that are away are still offered by
        Placement.
    """

    hosts: int
    away: int
    load: float
    flood: int
    floods: ty.Sequence[float]
    hours: float
    until: float
    slower: float = 1.0
    down: int = 0


SCENARIOS = {
    'outage': Scenario(1000, 400, 0.9, 7500, (0,), 12, 18),
    'full': Scenario(1000, 0, 0.95, 6000, range(12), 12, 18),
    'trickle': Scenario(1000, 0, 0.98, 600, (0,), 24, 24, slower=10),
}


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


class Workload:
    """All that is asked for in a scenario; a seed always gives the same.

    :ivar steady: runs at the beginning, each for the rest of its time.
    :ivar requests: come later, the first first: as many as end.
    :ivar sizes: how many servers each project has on the mean.
    :ivar flooding: the projects that ask for all that their quotas leave.
    :ivar quotas: cores and GiB of each project.
    """

    def __init__(self, scenario, seed):
        self._random, self._numbers = random.Random(seed), itertools.count(1)
        self._flavors = self._random.choices(
            list(FLAVORS), list(FLAVORS.values()), k=_MANY)
        self._lifetimes = [
            self._of(_LIFETIMES) * HOUR * scenario.slower
            for _ in range(_MANY)]
        self.steady = list(self._steady(
            (scenario.hosts - scenario.away) * scenario.load))
        self.sizes = [weight / sum(_WEIGHTS) * len(self.steady)
                      for weight in _WEIGHTS]
        self.flooding = range(20)
        self.requests = sorted(
            [*self._regular(scenario.hours * HOUR), *self._floods(scenario)],
            key=lambda one: one.at)
        means = [statistics.fmean(each) for each in zip(*self._flavors)]
        self.quotas = [
            [(_QUOTA_BY_USE * size + _QUOTA_MORE) * mean for mean in means]
            for size in self.sizes]

    def _steady(self, hosts):
        """Yield what runs: long lives are met more often than short ones."""
        cores, ram = hosts * CORES, hosts * RAM
        lifetimes = itertools.cycle(self._random.choices(
            self._lifetimes, self._lifetimes, k=_MANY))
        while cores > 0 and ram > 0:
            one = self._one(self._project(), 0.0)
            one.lifetime = next(lifetimes) * self._random.random()
            cores, ram = cores - one.flavor.cores, ram - one.flavor.ram
            yield one

    def _regular(self, seconds):
        """Yield batches, with as many servers as end in the same time."""
        sizes = [round(self._of(_BATCHES)) for _ in range(1 << 14)]
        lifetime = sum(self._lifetimes) / len(self._lifetimes)
        pause = sum(sizes) / len(sizes) * lifetime / len(self.steady)
        at = self._random.expovariate(1 / pause)
        while at < seconds:
            yield from self._batch(
                self._project(), at, self._random.choice(sizes))
            at += self._random.expovariate(1 / pause)

    def _floods(self, scenario):
        whole = sum(self.sizes[project] for project in self.flooding)
        for hour, project in itertools.product(
                scenario.floods, self.flooding):
            yield from self._batch(project, hour * HOUR, round(
                scenario.flood * self.sizes[project] / whole
                / len(scenario.floods)))

    def _batch(self, project, at, count):
        for number in range(count):
            # nova-api makes one after the other.
            yield self._one(project, at + number * 0.01)

    def _one(self, project, at):
        return Request(
            next(self._numbers), project, self._random.choice(self._flavors),
            at, self._random.choice(self._lifetimes))

    def _project(self):
        [found] = self._random.choices(range(len(_WEIGHTS)), _WEIGHTS)
        return found

    def _of(self, points):
        """Draw from a distribution; between its points it is log-linear."""
        part = self._random.random()
        after = bisect.bisect_right(points, (part, math.inf))
        (left, low), (right, high) = points[after - 1:after + 1]
        return low * (high / low) ** ((part - left) / (right - left))
