# SPDX-License-Identifier: Apache-2.0

"""Changes that tests make to a Nova service, before it runs.

Python imports it in every process that has its folder in ``PYTHONPATH``;
``CELL0_REBUILD_CHANGE`` names the change.
"""

import os
import signal

import wrapt


def dying(endpoint):
    """Have a conductor die of a rebuild, before it takes the attempt."""
    def rebuild_instance_in_cell0(self, context, **arguments):
        os.killpg(0, signal.SIGKILL)

    endpoint.RebuildEndpoint.rebuild_instance_in_cell0 = (
        rebuild_instance_in_cell0)


_MODULES = {
    'dying': 'cell0_rebuild.conductor.endpoint',
}

_change = os.environ.get('CELL0_REBUILD_CHANGE')
if _change:
    wrapt.register_post_import_hook(globals()[_change], _MODULES[_change])
