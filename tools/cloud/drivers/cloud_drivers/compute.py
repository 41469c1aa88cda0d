# SPDX-License-Identifier: Apache-2.0

"""nova-compute with the driver of this package.

Nova loads drivers from its own namespace only.
"""

import pathlib
import sys

import wrapt


def _extend(package):
    package.__path__.append(str(pathlib.Path(__file__).parent / 'virt'))


def main():
    """Run nova-compute."""
    wrapt.register_post_import_hook(_extend, 'nova.virt')
    from nova.cmd import compute
    sys.exit(compute.main())
