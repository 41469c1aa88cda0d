# SPDX-License-Identifier: Apache-2.0

"""Plot results: python plots.py RESULTS FOLDER."""

import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use('svg')
# The same results make the same file.
matplotlib.rcParams['svg.hashsalt'] = 'cell0-rebuild'

from matplotlib import pyplot  # noqa: E402

BURIED = 'rebuild of a buried server'


def times(found):
    """Each way, until ACTIVE."""
    figure, axes = pyplot.subplots(figsize=(7, 3))
    axes.boxplot([[sample['active'] for sample in samples]
                  for samples in found.values()], vert=False)
    axes.set_yticks(range(1, len(found) + 1), list(found))
    axes.set_xlabel('seconds until ACTIVE')
    axes.set_xlim(left=0)
    return figure


def scale(found):
    """A rebuild and a recovery by the number of buried servers."""
    counts = [int(count) for count in found]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3))
    for kind in ('create', 'rebuild'):
        left.plot(counts, [statistics.median(
            sample['cpu'] for sample in parts['rebuild'][kind])
            for parts in found.values()], marker='o', label=kind)
    left.set_ylabel('CPU seconds of all services')
    left.set_ylim(bottom=0)
    right.plot(counts, [parts['recover']['cpu'] for parts in found.values()],
               marker='o', label='CPU seconds')
    right.plot(counts, [parts['recover']['mib'] / 100
                        for parts in found.values()],
               marker='s', label='memory, 100 MiB')
    right.set_ylabel('recover --dry-run')
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xscale('log')
        axes.set_xlabel('buried servers')
        axes.legend()
    return figure


def bulk(found):
    """Servers a second by the number of clients."""
    figure, axes = pyplot.subplots(figsize=(7, 3))
    for kind in ('create', 'rebuild'):
        axes.plot(list(found), [statistics.median(
            part['servers'] / part['active'] for part in kinds[kind])
            for kinds in found.values()], marker='o', label=kind)
    axes.set_xlabel('clients')
    axes.set_ylabel('servers a second')
    axes.set_ylim(bottom=0)
    axes.legend()
    return figure


PLOTS = {'times': times, 'running': times, 'scale': scale, 'bulk': bulk}


def main(results, folder):
    """Plot what there are results of."""
    found = json.loads(pathlib.Path(results).read_text())
    for name, plot in PLOTS.items():
        if name in found:
            figure = plot(found[name]['found'])
            figure.tight_layout()
            figure.savefig(pathlib.Path(folder) / f'{name}.svg',
                           metadata={'Date': None})


if __name__ == '__main__':
    main(*sys.argv[1:])
