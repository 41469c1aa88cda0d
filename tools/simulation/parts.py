# SPDX-License-Identifier: Apache-2.0

"""What is run for each table."""

from __future__ import annotations

import dataclasses
import datetime
import typing as ty

from tools.simulation import owners
from tools.simulation import results
from tools.simulation import scenarios
from tools.simulation import service
from tools.simulation import tabling
from tools.simulation import world as worlds

_Make = ty.Callable[[], worlds.Policy]
_Ways = ty.Mapping[str, _Make]

POLICIES: _Ways = {
    tabling.POLLING: owners.Polling,
    'blind sweep': owners.Blind,
    'service, fifo': lambda: service.Service('fifo'),
    'service, fair': lambda: service.Service('fair'),
}

AGINGS: _Ways = {
    tabling.POLLING: owners.Polling,
    **{name: lambda days=days: service.Service(
        'fair', datetime.timedelta(days=days))
       for name, days in {'6 hours': 0.25, '1 day': 1, '3 days': 3,
                          '7 days': 7, '30 days': 30}.items()}}

# The scenarios and ways of each part, and whether Nova's weighers spread.
PARTS = {'policies': (scenarios.ALL, POLICIES, True),
         'agings': (('outage',), AGINGS, True),
         'packing': (('outage',), POLICIES, False)}


def run(
    scenario: scenarios.Scenario, seed: int, make: _Make,
    spreading: bool = True,
) -> results.Result:
    """Run a scenario once."""
    world = worlds.World(scenario, scenario.workload(seed), make(), spreading)
    world.run()
    return results.of(world)


def measure(part: str, tell: ty.Callable[[str], None]) -> dict[str, ty.Any]:
    """Run each way of a part in each of its scenarios, with all seeds."""
    names, ways, spreading = PARTS[part]
    found: dict[str, ty.Any] = {}
    for name in names:
        for way, make in ways.items():
            tell(f'{name}: {way}')
            found.setdefault(name, {})[way] = [
                dataclasses.asdict(run(
                    scenarios.ALL[name], seed, make, spreading))
                for seed in results.SEEDS]
    return found
