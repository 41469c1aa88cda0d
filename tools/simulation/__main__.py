# SPDX-License-Identifier: Apache-2.0

"""Simulate the waiting service.

The results are in .state/simulation.
"""

import argparse
import json
import logging

from tools import tables
from tools.simulation import parts

DOCS = tables.ROOT / 'doc/source/contributor/simulation'
STATE = tables.ROOT / '.state/simulation'


def main():
    """Simulate, show and perhaps write the documentation."""
    parser = argparse.ArgumentParser(
        prog='tools.simulation', description=__doc__.split('\n')[0])
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'of {", ".join(parts.PARTS)}, which are all run '
                             'without any')
    parser.add_argument('--show', action='store_true',
                        help='show the last results again')
    parser.add_argument('--write-docs', action='store_true',
                        help='write the tables and the plot into the '
                             'documentation')
    options = parser.parse_args()
    if unknown := set(options.parts) - {*parts.PARTS}:
        parser.error(f'no such part: {", ".join(unknown)}')
    # What goes wrong is meant to.
    logging.getLogger('cell0_rebuild').setLevel(logging.ERROR)
    STATE.mkdir(parents=True, exist_ok=True)
    for part in options.parts or parts.PARTS:
        path = STATE / f'{part}.json'
        if not options.show:
            path.write_text(json.dumps(parts.measure(part, tables.OUT.print)))
        tables.tell(
            json.loads(path.read_text()), parts.PARTS[part].tables,
            DOCS if options.write_docs else None, 'tools/simulation')
        if options.write_docs and part == 'policies':
            tables.plot(path, DOCS / 'waits.svg')


if __name__ == '__main__':
    main()
