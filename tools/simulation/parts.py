# SPDX-License-Identifier: Apache-2.0

"""What is run for each table."""

from concurrent import futures
import dataclasses
import datetime
import functools
import itertools
import typing as ty

from tools.simulation import offenders
from tools.simulation import owners
from tools.simulation import results
from tools.simulation import service
from tools.simulation import workload
from tools.simulation import world as worlds

# Over so many projects offenders are spread.
_OFFENDING = 30

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

OFFENDERS = {results.NOBODY: POLICIES['service, fair'], **{
    name: functools.partial(offenders.Beside, offender, _OFFENDING)
    for name, offender in offenders.OFFENDERS.items()}}

_OUTAGE = {'outage': workload.SCENARIOS['outage']}
# With many who wait each sweep takes its time.
_SHORTER = {
    'outage': dataclasses.replace(
        workload.SCENARIOS['outage'], hours=6, until=9),
    'full': dataclasses.replace(
        workload.SCENARIOS['full'], hours=6, until=8, floods=range(6)),
    'trickle': dataclasses.replace(
        workload.SCENARIOS['trickle'], hours=16, until=16)}


class Part(ty.NamedTuple):
    """What some tables are made of.

    :param spreading: as Nova's weighers do by default.
    """

    tables: tuple
    policies: dict
    scenarios: ty.Mapping = _OUTAGE
    spreading: bool = True


PARTS = {
    'policies': Part((results.policies, results.waits), POLICIES,
                     workload.SCENARIOS),
    'agings': Part((results.agings,), AGINGS),
    'packing': Part((results.packing,), POLICIES, spreading=False),
    'offenders': Part((results.offenders,), OFFENDERS, _SHORTER)}


def run(scenario, seed, make, spreading=True):
    """Run a scenario once, and return what it has shown."""
    world = worlds.World(scenario, seed, make(), spreading)
    world.run()
    return results.of(world)


def measure(name, tell):
    """Run each policy of a part in each of its scenarios, with all seeds."""
    part, found = PARTS[name], {}
    with futures.ProcessPoolExecutor() as pool:
        runs = {(scenario, policy): [
            pool.submit(run, part.scenarios[scenario], seed,
                        part.policies[policy], part.spreading)
            for seed in results.SEEDS] for scenario, policy
            in itertools.product(part.scenarios, part.policies)}
        for (scenario, policy), seeds in runs.items():
            tell(f'{scenario}: {policy}')
            found.setdefault(scenario, {})[policy] = [
                one.result() for one in seeds]
    return found
