# SPDX-License-Identifier: Apache-2.0

"""What is run for each table."""

import datetime
import functools
import typing as ty

from tools.simulation import owners
from tools.simulation import results
from tools.simulation import service
from tools.simulation import workload
from tools.simulation import world as worlds

POLICIES = {
    results.POLLING: owners.polling,
    'blind sweep': owners.blind,
    'service, fifo': functools.partial(service.Service, 'fifo'),
    'service, fair': functools.partial(service.Service, 'fair'),
}

AGINGS = {results.POLLING: owners.polling, **{
    name: functools.partial(
        service.Service, 'fair', datetime.timedelta(days=days))
    for name, days in {'6 hours': 0.25, '1 day': 1, '3 days': 3,
                       '7 days': 7, '30 days': 30}.items()}}



class Part(ty.NamedTuple):
    """What some tables are made of.

    :param spreading: as Nova's weighers do by default.
    """

    tables: tuple
    policies: dict
    scenarios: tuple = ('outage',)
    spreading: bool = True


PARTS = {
    'policies': Part((results.policies, results.waits), POLICIES,
                     tuple(workload.SCENARIOS)),
    'agings': Part((results.agings,), AGINGS),
    'packing': Part((results.packing,), POLICIES, spreading=False)}


def run(scenario, seed, make, spreading=True):
    """Run a scenario once, and return what it has shown."""
    world = worlds.World(scenario, seed, make(), spreading)
    world.run()
    return results.of(world)


def measure(name, tell):
    """Run each policy of a part in each of its scenarios, with all seeds."""
    part, found = PARTS[name], {}
    for scenario in part.scenarios:
        for policy, make in part.policies.items():
            tell(f'{scenario}: {policy}')
            found.setdefault(scenario, {})[policy] = [
                run(workload.SCENARIOS[scenario], seed, make, part.spreading)
                for seed in results.SEEDS]
    return found
