# SPDX-License-Identifier: Apache-2.0

"""Measure what the package costs.

"running" does what "times" does on the cloud that OS_CLIENT_CONFIG_FILE and
OS_CLOUD name. The samples are in .state/bench.
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


def _of(module, function='measure', *arguments):
    """Return what measures a part, with some of the options.

    A part is imported in its own process: some decide at import how Nova runs.
    """
    def measure(options):
        return getattr(importlib.import_module(module), function)(
            *(getattr(options, name) for name in arguments))
    return measure


def _bulk(options):
    import bulk
    # A number of clients takes ten minutes.
    known = (json.loads(options.into.read_text())['found']
             if options.clients and options.into.exists() else {})
    found = bulk.measure(options.servers, 2, options.clients or bulk.CLIENTS)
    known.update({str(number): parts for number, parts in found.items()})
    return {number: known[number] for number in sorted(known, key=int)}


PARTS = {
    'counts': _of('embedded', 'count'),
    'blobs': _of('embedded', 'measure_blobs'),
    'cells': _of('embedded', 'count_cells'),
    'startup': _of('startup', 'measure', 'rounds'),
    'times': _of('pairs', 'measure', 'rounds'),
    'scale': _of('scale', 'measure', 'rounds'), 'waiting': _of('waiting'),
    'bulk': _bulk, 'returning': _of('returning', 'measure', 'servers'),
}
# Not without being asked for: it is another's cloud.
SPECIAL = {'running': _of('running', 'measure', 'rounds')}


def run(part, options):
    """Measure a part in a process of its own and return its results."""
    path = STATE / f'{part}.json'
    if not options.show:
        with (STATE / f'{part}.log').open('w') as log:
            subprocess.run(
                [sys.executable, '-W', 'ignore', __file__, *sys.argv[1:],
                 '--into', path], cwd=ROOT, stdout=log, stderr=log,
                check=True)
    return json.loads(path.read_text())


def main():
    """Measure, show and perhaps write the documentation."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'of {", ".join(PARTS)}, which are run without '
                             f'any, and {", ".join(SPECIAL)}')
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--servers', type=int, default=500,
                        help='of each kind and number of clients in bulk')
    parser.add_argument('--clients', type=int, nargs='*', default=[],
                        help='only so many in bulk; the last results of '
                             'other numbers are kept')
    parser.add_argument('--show', action='store_true',
                        help='show the last results again')
    parser.add_argument('--write-docs', action='store_true',
                        help='write the tables into the documentation, and a '
                             'plot of "running"')
    parser.add_argument('--into', type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.parts) - {*PARTS, *SPECIAL}:
        parser.error(f'no such part: {", ".join(unknown)}')
    STATE.mkdir(parents=True, exist_ok=True)
    if options.into:
        _measure(options)
        return
    for part in options.parts or PARTS:
        tables.tell(run(part, options)['found'], tabling.OF[part],
                    DOCS if options.write_docs else None, 'tools/bench')
        if options.write_docs and part == 'running':
            tables.plot(part, STATE / f'{part}.json', DOCS / f'{part}.svg')


def _measure(options):
    """Measure the part of a file, and what else the machine had to do."""
    busy = [os.getloadavg()[0]]
    found = {**PARTS, **SPECIAL}[options.into.stem](options)
    busy.append(os.getloadavg()[0])
    options.into.write_text(json.dumps({
        'processors': os.cpu_count(), 'load': busy, 'found': found}))


if __name__ == '__main__':
    main()
