#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Tell which of our targets a Nova that is not installed has changed.

Usage: nova_drift.py FOLDER

FOLDER is a source tree of Nova. Only its source is read, so that it needs
none of what it requires. The exit code is 1 if a target has drifted.
"""

import sys

from cell0_rebuild import activation
from cell0_rebuild import exceptions


def drifted(folder):
    """Return a sentence for each target that has drifted."""
    sys.path.insert(0, folder)
    try:
        activation.load_all().check()
    except exceptions.PatchMismatch as error:
        return sorted(set(error.problems))
    return []


def main(folder):
    """Print what has drifted and return the exit code."""
    found = drifted(folder)
    for problem in found:
        print(f'DRIFTED  {problem}')
    print(f'{len(found)} targets have drifted', flush=True)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
