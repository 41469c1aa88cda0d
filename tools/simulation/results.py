# SPDX-License-Identifier: Apache-2.0

"""What a run has shown, and what several seeds say together."""

from __future__ import annotations

import dataclasses
import math
import statistics
import typing as ty

from tools.simulation import workload
from tools.simulation import world as worlds

# Of five seeds, half of an interval of 95 % in standard errors (Student).
SEEDS = range(1, 6)
_STUDENT = 2.776

_Matches = ty.Callable[[workload.Request], bool]
_Runs = ty.Sequence[dict[str, ty.Any]]

# Servers of a project on the mean, from which it is a middle one.
_MIDDLE = 20


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run has shown; waits are hours, those at once are 0.

    :param calls: scheduler calls for each server that waited and got a host.
    :param disturbed: such that found no host, likewise.
    :param others: mean wait of projects that did not flood.
    :param flooding: mean wait of those that did.
    :param longest: what one in a hundred of all waited longer than.
    :param by_project: mean waits; the sizes of those that did not flood.
    """

    placed: int
    calls: float
    disturbed: float
    inversions: int
    others: float
    flooding: float
    longest: float
    by_project: dict[str, float]
    by_cores: dict[str, float]


def of(world: worlds.World) -> Result:
    """Return what a run has shown; who has no host yet has waited till now."""
    asked, counts = world.asked, world.counts
    placed = max(counts.placed, 1)

    def waits(matches: _Matches) -> list[float]:
        return [((world.now if one.placed_at is None else one.placed_at)
                 - one.at) / workload.HOUR
                for one in asked.requests if matches(one)] or [0.0]

    def others(one: workload.Request) -> bool:
        return one.project not in asked.flooding

    def mean(matches: _Matches) -> float:
        return statistics.fmean(waits(matches))

    return Result(
        counts.placed, counts.calls / placed,
        (counts.calls - counts.placed) / placed,
        counts.inversions, mean(others), mean(lambda one: not others(one)),
        statistics.quantiles(waits(lambda one: True), n=100)[-1],
        {'small': mean(lambda one: others(one)
                       and asked.sizes[one.project] < _MIDDLE),
         'middle': mean(lambda one: others(one)
                        and asked.sizes[one.project] >= _MIDDLE),
         'flooding': mean(lambda one: not others(one))},
        {str(cores): mean(lambda one, cores=cores: one.flavor.cores == cores)
         for cores in sorted({
             flavor.cores for flavor in workload.FLAVORS})})


def spread(values: ty.Iterable[float]) -> str:
    """Return a mean, and half of the interval in which it lies in 95 %."""
    values = list(values)
    mean = statistics.fmean(values)
    half = _STUDENT * statistics.stdev(values) / math.sqrt(len(values))
    digits = 0 if mean >= 20 else 2
    return f'{mean:.{digits}f} ± {half:.{digits}f}'


def by(ones: _Runs, others: _Runs, name: str) -> list[float]:
    """Return a figure of one policy by that of another, seed by seed."""
    return [one[name] / other[name] for one, other in zip(ones, others)]
