# SPDX-License-Identifier: Apache-2.0

"""Extension ``conductor``: the RPC endpoint, and burials that forget nothing.

Nothing of Nova is imported here: wrappers are looked up when all of Nova that
they patch has been checked.
"""

from __future__ import annotations

from cell0_rebuild import nova_internals
from cell0_rebuild import patching

_WRAPPERS = 'cell0_rebuild.conductor'

PATCHES = (
    patching.Patch(
        nova_internals.SERVICE_START, f'{_WRAPPERS}.rpc_server:start'),
    patching.Patch(
        nova_internals.SERVICE_STOP, f'{_WRAPPERS}.rpc_server:stop'),
    patching.Patch(
        nova_internals.SCHEDULE_AND_BUILD,
        f'{_WRAPPERS}.burial:schedule_and_build_instances'),
    patching.Patch(
        nova_internals.BURY_IN_CELL0, f'{_WRAPPERS}.burial:bury_in_cell0'),
    patching.Patch(
        nova_internals.SET_VM_STATE,
        f'{_WRAPPERS}.show_as_build:set_vm_state_and_notify'),
    patching.Patch(
        nova_internals.BIND_ACCELERATORS,
        f'{_WRAPPERS}.unsent:create_and_bind_arq_for_instance'),
    patching.Patch(
        nova_internals.CLEAN_UP,
        f'{_WRAPPERS}.unsent:cleanup_build_artifacts'),
    patching.Patch(
        nova_internals.MAPPING_DESTROY, f'{_WRAPPERS}.mapping_guard:destroy'),
    *(patching.Reliance(target) for target in (
        nova_internals.DELETION, nova_internals.POPULATE_RETRY,
        *nova_internals.BUILD_STEPS,
        *nova_internals.MOVES, *nova_internals.CLAIMS,
        *nova_internals.ALLOCATIONS, *nova_internals.LEFTOVERS,
        *nova_internals.REIMAGE)),
)
