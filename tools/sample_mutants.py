# SPDX-License-Identifier: Apache-2.0

"""Keep some of the mutants of a session of cosmic-ray, and drop the others.

It runs in the environment of cosmic-ray. What a filter has skipped is dropped
as well: cosmic-ray would count it as killed.
"""

import argparse
import random

from cosmic_ray import work_db


def _place(item):
    """Return what tells a mutant from others in each run."""
    return [(str(mutation.module_path), mutation.start_pos, mutation.end_pos,
             mutation.operator_name, mutation.occurrence)
            for mutation in item.mutations]


def main():
    """Drop all but a sample."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('session')
    parser.add_argument('number', type=int, help='how many; all if it is 0')
    parser.add_argument('seed', type=int)
    options = parser.parse_args()
    with work_db.use_db(options.session) as session:
        found = sorted(session.pending_work_items, key=_place)
        kept = found[:]
        if 0 < options.number < len(found):
            kept = random.Random(options.seed).sample(found, options.number)
        session.clear()
        session.add_work_items(kept)
    print(f'{len(kept)} of {len(found)} mutants, seed {options.seed}')


if __name__ == '__main__':
    main()
