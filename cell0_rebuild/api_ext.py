# SPDX-License-Identifier: Apache-2.0

"""Extension ``api``: one microversion, and the rebuild of buried servers.

Nothing of Nova is imported here: wrappers are looked up when the module that
they patch has been imported.
"""

from __future__ import annotations

from cell0_rebuild import internals
from cell0_rebuild import patching

_WRAPPERS = 'cell0_rebuild.api'

PATCHES = (
    patching.Patch(
        internals.SET_API_VERSION,
        f'{_WRAPPERS}.microversion:set_api_version_request'),
    patching.ItemPatch(
        internals.VERSIONS, f'{_WRAPPERS}.numbers:added'),
    patching.Patch(
        internals.REBUILD_ACTION, f'{_WRAPPERS}.microversion:rebuild_action'),
    patching.Patch(internals.REBUILD, f'{_WRAPPERS}.rebuild:rebuild'),
    patching.Patch(internals.DELETE, f'{_WRAPPERS}.delete:delete'),
    patching.Patch(
        internals.DELETE_WHILE_BOOTING,
        f'{_WRAPPERS}.delete:delete_while_booting'),
    patching.Patch(
        internals.GET_INSTANCES, f'{_WRAPPERS}.events:get_instances'),
    *(patching.Reliance(target) for target in (
        *internals.CHECKS, *internals.DEMANDS, *internals.MOVES,
        *internals.REIMAGE)),
)
