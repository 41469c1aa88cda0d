# SPDX-License-Identifier: Apache-2.0

"""Tell how many lines and branches the tests reach, and fail below a share.

Usage: check_coverage.py FILE PERCENT

FILE is a report of "coverage json". Coverage itself compares lines and
branches together only.
"""

import json
import pathlib
import sys

KINDS = {'lines': 'statements', 'branches': 'branches'}


def main(path, least):
    """Print the shares and return the exit code."""
    totals = json.loads(pathlib.Path(path).read_text())['totals']
    found = {name: totals[f'percent_{key}_covered']
             for name, key in KINDS.items()}
    print(', '.join(f'{name}: {share:.1f} %' for name, share
                    in found.items()), flush=True)
    low = [name for name, share in found.items() if share < float(least)]
    if low:
        print(f'below {least} %: {", ".join(low)}', file=sys.stderr)
    return 1 if low else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
