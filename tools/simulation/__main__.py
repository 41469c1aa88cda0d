# SPDX-License-Identifier: Apache-2.0

"""Simulate the waiting service.

Usage: python -m tools.simulation [PART ...] [--show] [--write-docs]

The parts are policies, agings and packing; without any of them, all. --show
shows what they found the last time; the results are in .state/simulation.
--write-docs writes the tables and the plot into the documentation.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

from rich import console

from tools import tables
from tools.simulation import parts
from tools.simulation import tabling

DOCS = tables.ROOT / 'doc/source/admin/waiting-simulation'
STATE = tables.ROOT / '.state/simulation'
OUT = console.Console(soft_wrap=True)


def main() -> None:
    """Simulate, show and perhaps write the documentation."""
    parser = argparse.ArgumentParser(
        prog='tools.simulation', description=__doc__.split('\n')[0])
    parser.add_argument('parts', nargs='*', metavar='PART')
    parser.add_argument('--show', action='store_true',
                        help='show the last results again')
    parser.add_argument('--write-docs', action='store_true')
    options = parser.parse_args()
    if unknown := set(options.parts) - {*parts.PARTS}:
        parser.error(f'no such part: {", ".join(unknown)}')
    for folder in (STATE, DOCS):
        folder.mkdir(parents=True, exist_ok=True)
    for part in options.parts or parts.PARTS:
        path = STATE / f'{part}.json'
        if not options.show:
            path.write_text(json.dumps(parts.PARTS[part](OUT.print)))
        for table in tabling.OF[part]:
            header, *rows = table(json.loads(path.read_text()))
            OUT.print(f'\n{table.__doc__}', style='bold')
            tables.show(OUT, header, rows)
            if options.write_docs:
                tables.write(OUT, DOCS / f'{table.__name__}-table.rst',
                             'tools/simulation', header, rows)
        if options.write_docs and part == 'policies':
            _plot(path, DOCS / 'waits.svg')


def _plot(path: pathlib.Path, into: pathlib.Path) -> None:
    # It is in no environment that a test needs.
    subprocess.run(
        [str(pathlib.Path(sys.executable).parent / 'uv'), 'run', '--quiet',
         '--no-project', '--with-requirements',
         str(tables.ROOT / 'bench-requirements.txt'), 'python',
         str(pathlib.Path(__file__).parent / 'plots.py'), str(path),
         str(into)], check=True)


if __name__ == '__main__':
    main()
