# SPDX-License-Identifier: Apache-2.0

"""Plot a simulated outage: python plots.py RESULTS FILE."""

import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use('svg')
matplotlib.rcParams.update({
    # The same results make the same file.
    'svg.hashsalt': 'cell0-rebuild',
    # Outlines of letters are most of a file.
    'svg.fonttype': 'none',
})

from matplotlib import pyplot  # noqa: E402


def waits(results):
    """Plot mean waits in an outage by the sizes of projects and servers."""
    ways = results['outage']
    figure, plots = pyplot.subplots(
        1, 2, figsize=(8, 3), sharey=True, layout='constrained')
    for (kind, label), axes in zip({
            'by_project': 'projects', 'by_cores': 'cores of the server',
            }.items(), plots):
        for number, (way, runs) in enumerate(ways.items()):
            places = [place + (number - 1.5) * 0.2
                      for place in range(len(runs[0][kind]))]
            values = [[run[kind][name] for run in runs]
                      for name in runs[0][kind]]
            means = [statistics.fmean(each) for each in values]
            axes.bar(places, means, 0.2, label=way, yerr=[
                [mean - min(each) for mean, each in zip(means, values)],
                [max(each) - mean for mean, each in zip(means, values)]])
        axes.set_xticks(range(len(runs[0][kind])), list(runs[0][kind]))
        axes.set_xlabel(label)
    plots[0].set_ylabel('mean wait, hours')
    plots[0].legend(fontsize='small')
    return figure


def main(path, into):
    """Write a plot of results."""
    figure = waits(json.loads(pathlib.Path(path).read_text()))
    figure.savefig(into, metadata={'Date': None})


if __name__ == '__main__':
    main(*sys.argv[1:])
