# SPDX-License-Identifier: Apache-2.0

"""Extension ``api``: one microversion, and the rebuild of buried servers.

Nothing of Nova is imported here: wrappers are looked up when all of Nova that
they patch has been checked.
"""

from __future__ import annotations

from cell0_rebuild import nova_internals
from cell0_rebuild import patching

_WRAPPERS = 'cell0_rebuild.api'

PATCHES = (
    patching.Patch(
        nova_internals.SET_API_VERSION,
        f'{_WRAPPERS}.microversion:set_api_version_request'),
    patching.ItemPatch(
        nova_internals.VERSIONS, f'{_WRAPPERS}.microversion_range:added'),
    patching.Patch(
        nova_internals.REBUILD_ACTION,
        f'{_WRAPPERS}.microversion:rebuild_action'),
    patching.Patch(nova_internals.REBUILD, f'{_WRAPPERS}.rebuild:rebuild'),
    patching.Patch(nova_internals.DELETE, f'{_WRAPPERS}.delete:delete'),
    patching.Patch(
        nova_internals.DELETE_WHILE_BOOTING,
        f'{_WRAPPERS}.delete:delete_while_booting'),
    patching.Patch(
        nova_internals.SAVE_BUILD_REQUEST, f'{_WRAPPERS}.build_request:save'),
    patching.Patch(
        nova_internals.GET_INSTANCES,
        f'{_WRAPPERS}.external_events:get_instances'),
    *(patching.Reliance(target) for target in (
        *nova_internals.ALLOCATIONS, *nova_internals.CHECKS,
        *nova_internals.DEMANDS, *nova_internals.MOVES,
        *nova_internals.REIMAGE)),
)
