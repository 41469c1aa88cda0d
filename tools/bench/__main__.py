# SPDX-License-Identifier: Apache-2.0

"""Measure what the package costs.

The samples are in .state/bench.
"""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / 'tools')]

import tables  # noqa: E402
import tabling  # noqa: E402

DOCS = ROOT / 'doc/source/contributor/performance'
STATE = ROOT / '.state/bench'


def main():
    """Measure, show and perhaps write the documentation."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'of {", ".join(tabling.OF)}, which are all run '
                             'without any')
    parser.add_argument('--rounds', type=int, default=20,
                        help='of startup and times, at least 2')
    parser.add_argument('--servers', type=int, default=500,
                        help='of each kind in bulk and returning')
    parser.add_argument('--write-docs', action='store_true',
                        help='write the tables into the documentation')
    parser.add_argument('--into', type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.parts) - {*tabling.OF}:
        parser.error(f'no such part: {", ".join(unknown)}')
    STATE.mkdir(parents=True, exist_ok=True)
    if options.into:
        _measure(options)
        return
    for part in options.parts or tabling.OF:
        tables.tell(_run(part), tabling.OF[part],
                    DOCS if options.write_docs else None, 'tools/bench')


def _run(part):
    """Measure a part in a process of its own and return what it found.

    Some parts decide at import how Nova runs.
    """
    path = STATE / f'{part}.json'
    with path.with_suffix('.log').open('w') as log:
        subprocess.run(
            [sys.executable, '-W', 'ignore', __file__, *sys.argv[1:],
             '--into', path], cwd=ROOT, stdout=log, stderr=log, check=True)
    return json.loads(path.read_text())['found']


def _measure(options):
    """Measure the part of a file, and what else the machine had to do."""
    busy = [os.getloadavg()[0]]
    found = importlib.import_module(options.into.stem).measure(options)
    busy.append(os.getloadavg()[0])
    options.into.write_text(json.dumps({
        'processors': os.cpu_count(), 'load': busy, 'found': found}))


if __name__ == '__main__':
    main()
