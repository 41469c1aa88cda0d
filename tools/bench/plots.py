# SPDX-License-Identifier: Apache-2.0

"""Plot times on a running cloud: python plots.py RESULTS FILE."""

import json
import pathlib
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


def main(results, path):
    """Plot each way of getting a server, until it is ACTIVE."""
    found = json.loads(pathlib.Path(results).read_text())['found']
    figure, axes = pyplot.subplots(figsize=(7, 3))
    axes.boxplot([[sample['active'] for sample in samples]
                  for samples in found.values()], vert=False)
    axes.set_yticks(range(1, len(found) + 1), list(found))
    axes.set_xlabel('seconds until ACTIVE')
    axes.set_xlim(left=0)
    figure.tight_layout()
    figure.savefig(path, metadata={'Date': None})


if __name__ == '__main__':
    main(*sys.argv[1:])
