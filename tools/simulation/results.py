# SPDX-License-Identifier: Apache-2.0

"""What a run has shown, and the tables of what several seeds say together."""

import math
import statistics

from tools.simulation import workload

POLLING, NOBODY = 'owners poll', 'nobody'

# Of five seeds, half of an interval of 95 % in standard errors (Student).
SEEDS = range(1, 6)
_STUDENT = 2.776

# Servers of a project on the mean, from which it is a middle one.
_MIDDLE = 20

_PROJECTS = 'small', 'middle', 'flooding'
_CORES = {str(flavor.cores) for flavor in workload.FLAVORS}


def of(world):
    """Return what a run has shown.

    Waits are the mean hours of all servers, those of who has a host at once
    are 0, and who has none yet has waited till now. In one of a hundred it is
    longer than the longest. Calls and those that found no host, which have
    disturbed the scheduler, are by servers that waited and got a host.
    """
    asked, placed = world.asked, max(world.placed, 1)

    def kind(project):
        if project in asked.flooding:
            return 'flooding'
        return 'small' if asked.sizes[project] < _MIDDLE else 'middle'

    waits = [(kind(one.project), str(one.flavor.cores), (
        (world.now if one.placed_at is None else one.placed_at) - one.at
        ) / workload.HOUR) for one in asked.requests]

    def mean(*names):
        return statistics.fmean([
            wait for *having, wait in waits
            if not set(names).isdisjoint(having)] or [0.0])

    return {
        'placed': world.placed, 'inversions': world.inversions,
        'calls': world.calls / placed,
        'disturbed': (world.calls - world.placed) / placed,
        'others': mean('small', 'middle'), 'flooding': mean('flooding'),
        'longest': statistics.quantiles(
            [wait for *_, wait in waits], n=100)[-1],
        'by_project': {name: mean(name) for name in _PROJECTS},
        'by_cores': {name: mean(name) for name in sorted(_CORES)}}


def policies(found):
    """What each policy costs, and what it does for whom."""
    yield ('scenario', 'policy', 'scheduler calls per placed',
           'disturbed in vain per placed', 'placed',
           'wait of those who did not flood, h', 'by that with polling',
           'wait of those who did, h', 'inversions')
    for scenario, ways in found.items():
        for way, runs in ways.items():
            yield (scenario, way, *_means(runs, 'calls', 'disturbed'),
                   f'{sum(run["placed"] for run in runs):,}',
                   *_means(runs, 'others'),
                   '' if way == POLLING else _by_polling(runs, ways),
                   *_means(runs, 'flooding'),
                   f'{sum(run["inversions"] for run in runs):,}')


def waits(found):
    """Mean wait in an outage, hours, by the sizes of projects and servers."""
    ways = found['outage']
    [first, *_] = next(iter(ways.values()))
    yield ('policy', *(f'{name} projects' for name in first['by_project']),
           *(f'{name} core{"" if name == "1" else "s"}'
             for name in first['by_cores']))
    for way, runs in ways.items():
        yield (way, *(_spread(run[kind][name] for run in runs)
                      for kind in ('by_project', 'by_cores')
                      for name in first[kind]))


def agings(found):
    """How long makes up for a whole quota, in an outage."""
    yield ('aging', 'wait of those who did not flood, h',
           'by that with polling', 'wait of those who did, h',
           'one in a hundred of all waited longer than, h')
    ways = found['outage']
    for way, runs in ways.items():
        if way != POLLING:
            yield (way, *_means(runs, 'others'), _by_polling(runs, ways),
                   *_means(runs, 'flooding', 'longest'))


def packing(found):
    """The same outage, where Nova's weighers pack."""
    for _, *row in policies(found):
        yield row


def offenders(found):
    """What those wait who do no wrong, beside 30 projects that do."""
    yield ('scenario', 'what goes wrong', 'placed',
           'scheduler calls in vain per placed',
           'wait of those who did not flood, h', 'by that without',
           'wait of those who did, by that without')
    for scenario, ways in found.items():
        for way, runs in ways.items():
            yield (scenario, way, f'{sum(run["placed"] for run in runs):,}',
                   *_means(runs, 'disturbed', 'others'),
                   *('' if way == NOBODY else _by(runs, ways[NOBODY], name)
                     for name in ('others', 'flooding')))


def _means(runs, *names):
    return (_spread(run[name] for run in runs) for name in names)


def _by_polling(runs, ways):
    return _by(runs, ways[POLLING], 'others')


def _by(runs, than, name):
    """Return the wait of some by that in other runs, seed by seed."""
    return _spread(run[name] / other[name] for run, other in zip(runs, than))


def _spread(values):
    """Return a mean, and half of the interval in which it lies in 95 %."""
    values = list(values)
    mean = statistics.fmean(values)
    half = _STUDENT * statistics.stdev(values) / math.sqrt(len(values))
    digits = 0 if mean >= 20 else 2
    return f'{mean:.{digits}f} ± {half:.{digits}f}'
