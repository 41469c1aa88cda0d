# SPDX-License-Identifier: Apache-2.0

"""The tables that the results are shown in: a header, then rows."""

import collections
import random
import statistics

BURIED = 'rebuild of a buried server'


def blobs(found):
    """What is kept of a buried server."""
    yield ('', 'RequestSpec of Nova, bytes', 'added while buried',
           'added after the rebuild')
    for name, sizes in found.items():
        yield (name, sizes['buried']['stock'], sizes['buried']['added'],
               sizes['rebuilt']['added'] if 'rebuilt' in sizes else '')


def unaffected(found):
    """Ordinary requests, enabled against stock."""
    yield ('request', 'SQL statements', 'RPC messages', 'HTTP requests',
           'more than stock')
    for step, kinds in found.items():
        if 'stock' in kinds:
            stock, enabled = (
                {kind: sum(kinds[name].get(kind, {}).values())
                 for kind in ('sql', 'rpc', 'http')}
                for name in ('stock', 'enabled'))
            more = [f'{enabled[kind] - stock[kind]} {kind.upper()}'
                    for kind in stock if enabled[kind] != stock[kind]]
            yield (step, *stock.values(), ', '.join(more) or 'none')


def alternatives(found):
    """The rebuild against its alternatives, counted."""
    yield ('', 'SQL in nova-api', 'SQL in conductor', 'SQL in compute',
           'SQL in Placement', 'SQL in all', 'RPC', 'HTTP')
    steps = {
        'create': ['create'],
        'delete and create': ['delete of a buried server', 'create'],
        'rebuild of a launched server': ['rebuild with another image'],
        'the same, with the image it has': ['rebuild'],
        BURIED: [BURIED],
    }
    for name, parts in steps.items():
        def of(kind, *services, parts=parts):
            counts = [found[part]['enabled'].get(kind, {}) for part in parts]
            return sum(count for each in counts
                       for service, count in each.items()
                       if not services or service in services)
        yield (name, of('sql', 'api'), of('sql', 'conductor'),
               of('sql', 'compute'), of('sql', 'placement'), of('sql'),
               of('rpc'), of('http'))


def startup(found):
    """What activation adds to the start of services."""
    yield ('service', '', 'CPU until it answers, s', 'memory, MiB')
    for service, kinds in found.items():
        for kind, samples in kinds.items():
            yield (service, kind,
                   _spread([sample['cpu'] for sample in samples]),
                   _median([sample['mib'] for sample in samples]))


def times(found):
    """The rebuild against its alternatives, timed."""
    yield ('', 'until answered, s', 'until ACTIVE, s', 'the rebuild by it',
           'CPU of all, s', 'the rebuild by it: CPU')
    of = {way: {
        'answer': [sample['answer'] for sample in samples],
        'active': [sample['active'] for sample in samples],
        'cpu': [sum(sample['cpu'].values()) for sample in samples]}
        for way, samples in found.items()}
    for way, kinds in of.items():
        active, cpu = ('' if way == BURIED else _ratio(
            of[BURIED][kind], kinds[kind]) for kind in ('active', 'cpu'))
        yield (way, _spread(kinds['answer']), _spread(kinds['active']), active,
               _spread(kinds['cpu']), cpu)


def waiting(found):
    """What the waiting service costs while nothing fits."""
    yield ('servers that wait', 'first probe after, s',
           'first sweep ends after, s', 'a dry run, s', 'a sweep, s',
           'sweeps a minute', 'SQL statements of a sweep',
           'requests to Placement', 'one of them, ms',
           'share of one Placement', 'rows written', 'calls of the scheduler',
           'rebuilds', 'memory, MiB')
    for count, of in found.items():
        yield (f'{int(count):,}', f'{of["first_probe"]:.1f}',
               f'{of["first_sweep"]:.1f}', f'{of["read"]:.1f}',
               f'{of["sweep"]:.2f}', f'{of["sweeps"]:.1f}',
               f'{of["statements"]:.0f}', f'{of["probes"]:.0f}',
               f'{of["probe"] * 1000:.0f}', f'{of["placement"]:.1%}',
               *(f'{of[name]:.0f}' for name in (
                   'writes', 'scheduler', 'requests', 'mib')))


def bulk(found):
    """Many rebuilds at once against as many creates."""
    yield ('clients', 'servers of each', 'failed', 'creates a second',
           'rebuilds a second', 'rebuilds by creates',
           'slowest answer by the median', 'busiest')
    for clients, kinds in found.items():
        count, rates, slowest, median = _many(kinds)
        cpu = collections.Counter()
        for part in kinds['rebuild']:
            cpu.update(part['cpu'])
        yield (clients, count,
               sum(len(part['failed']) for parts in kinds.values()
                   for part in parts), *rates, f'{slowest / median:.1f}',
               ', '.join(f'{name} {seconds / sum(cpu.values()):.0%}'
                         for name, seconds in cpu.most_common(2)))


def returning(found):
    """Servers that wait and come back at once, against as many creates."""
    yield ('servers of each', 'creates a second',
           'placed a second', 'placed by creates',
           "slowest by the median, s", "conductor's CPU of each, s",
           "the same of a create, s")
    count, rates, slowest, median = _many(found)
    yield (count, *rates, f'{slowest:.0f} / {median:.0f}',
           *(f'{_conductor(found[kind]) / count:.2f}'
             for kind in ('rebuild', 'create')))


def _conductor(parts):
    """Return the seconds of CPU that nova-conductor has used."""
    return sum(part['cpu']['conductor'] for part in parts)


def _many(kinds):
    """Return what is told of rebuilds at once against creates.

    :returns: how many servers, the rates of both and their ratio, and the
        longest and the median of waits.
    """
    creates, rebuilds = (
        [part['servers'] / part['active'] for part in kinds[kind]]
        for kind in ('create', 'rebuild'))
    waits = sorted(wait for part in kinds['rebuild'] for wait in part['waits'])
    return (sum(part['servers'] for part in kinds['rebuild']),
            (_median(creates), _median(rebuilds), _ratio(rebuilds, creates)),
            waits[-1], waits[len(waits) // 2])


def _spread(samples):
    """Return a median with its quartiles, as text."""
    low, _, high = statistics.quantiles(samples, n=4, method='inclusive')
    return f'{statistics.median(samples):.2f} ({low:.2f} to {high:.2f})'


def _median(samples):
    """Return a median, as text."""
    return f'{statistics.median(samples):.2f}'


def _ratio(samples, others):
    """Return the median of the ratios of paired samples, as text.

    With the interval that has the median of 95 of 100 such runs, found by
    drawing from these pairs.
    """
    pairs = [one / other for one, other in zip(samples, others)]
    draw = random.Random(1)
    medians = sorted(
        statistics.median(draw.choices(pairs, k=len(pairs)))
        for _ in range(2000))
    return (f'{statistics.median(pairs):.2f} '
            f'({medians[50]:.2f} to {medians[-50]:.2f})')


OF = {
    'counts': (unaffected, alternatives), 'blobs': (blobs,),
    'startup': (startup,), 'times': (times,), 'waiting': (waiting,),
    'bulk': (bulk,), 'returning': (returning,),
}
