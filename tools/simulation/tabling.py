# SPDX-License-Identifier: Apache-2.0

"""The tables that the results are shown in: a header, then rows."""

from __future__ import annotations

import typing as ty

from tools.simulation import results

POLLING = 'owners poll'

_Runs = dict[str, dict[str, list[dict[str, ty.Any]]]]
_Rows = ty.Iterator[tuple[str, ...]]


def policies(found: _Runs) -> _Rows:
    """What each policy costs, and what it does for whom."""
    yield ('scenario', 'policy', 'scheduler calls per placed',
           'disturbed in vain per placed', 'placed',
           'wait of those who did not flood, h', 'by that with polling',
           'wait of those who did, h', 'inversions')
    for scenario, ways in found.items():
        for way, runs in ways.items():
            yield (scenario, way, *_cells(runs, 'calls', 'disturbed'),
                   f'{sum(run["placed"] for run in runs):,}',
                   *_cells(runs, 'others'),
                   '' if way == POLLING else results.spread(
                       results.by(runs, ways[POLLING], 'others')),
                   *_cells(runs, 'flooding'),
                   f'{sum(run["inversions"] for run in runs):,}')


def waits(found: _Runs) -> _Rows:
    """Mean wait in an outage, hours, by the sizes of projects and servers."""
    ways = found['outage']
    [first, *_] = next(iter(ways.values()))
    yield ('policy', *(f'{name} projects' for name in first['by_project']),
           *(f'{name} core{"" if name == "1" else "s"}'
             for name in first['by_cores']))
    for way, runs in ways.items():
        yield (way, *(results.spread(run[kind][name] for run in runs)
                      for kind in ('by_project', 'by_cores')
                      for name in first[kind]))


def agings(found: _Runs) -> _Rows:
    """How long makes up for a whole quota, in an outage."""
    yield ('aging', 'wait of those who did not flood, h',
           'by that with polling', 'wait of those who did, h',
           'one in a hundred of all waited longer than, h')
    ways = found['outage']
    for way, runs in ways.items():
        if way != POLLING:
            yield (way, *_cells(runs, 'others'),
                   results.spread(results.by(runs, ways[POLLING], 'others')),
                   *_cells(runs, 'flooding', 'longest'))


def packing(found: _Runs) -> _Rows:
    """The same outage, where Nova's weighers pack."""
    rows = policies(found)
    yield next(rows)[1:]
    yield from (row[1:] for row in rows)


def _cells(runs: list[dict[str, ty.Any]], *names: str) -> ty.Iterator[str]:
    return (results.spread(run[name] for run in runs) for name in names)


OF = {'policies': (policies, waits), 'agings': (agings,),
      'packing': (packing,)}
