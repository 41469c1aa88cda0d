# SPDX-License-Identifier: Apache-2.0

"""What is counted on a whole Nova in this process.

Counts are the same in every run, so one run tells all.
"""

import os

os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', '1')
os.environ['OS_TEST_TIMEOUT'] = '0'

# It decides which kind of threads there are: before anything of Nova.
from tests.functional.api import costs  # noqa: E402


def measure(options):
    """Return what requests cost, stock and enabled, by service and kind."""
    found = {}
    for method in ('scenario', 'list_many'):
        for name, case in zip(('stock', 'enabled'), costs.run(method)):
            for step, counts in case.services.items():
                kinds = found.setdefault(step, {}).setdefault(name, {})
                for (service, kind), count in counts.items():
                    kinds.setdefault(kind, {})[service] = count
    del found['warm-up']
    return found
