# SPDX-License-Identifier: Apache-2.0

"""Accelerators that an interrupted attempt has left in Cyborg.

A compute takes all accelerators that are bound to a server. With one that is
left, the server would have two after the next rebuild.
"""

from __future__ import annotations

import typing as ty

from nova.accelerator import cyborg
from nova import exception

from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import standing

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects


def release_leftovers(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    spec: objects.RequestSpec,
) -> None:
    """Delete the accelerators that earlier attempts have left bound.

    :param spec: the RequestSpec of the server.
    :raises StaleAttempt: if this attempt is stale and finds any.
    """
    left = _bound(context, spec)
    if left:
        with attempts.held_current(context, attempt, or_deleted=True):
            _delete(context, left)


def release(
    context: nova_context.RequestContext, attempt: attempts.Attempt,
    identities: list[str], is_buried: bool,
) -> None:
    """Delete the accelerators of an attempt, unless the server uses them.

    :param is_buried: this attempt has buried the server; a later attempt
        has other accelerators.
    """
    if identities and (
            is_buried or standing.is_at_rest(context, attempt.uuid)):
        _delete(context, identities)


def are_wanted(spec: objects.RequestSpec) -> bool:
    """Tell whether the flavor of a server, or a port, wants accelerators."""
    networks: ty.Any = ()
    if 'requested_networks' in spec:
        networks = spec.requested_networks or ()
    return 'accel:device_profile' in spec.flavor.extra_specs or any(
        'device_profile' in network and network.device_profile
        for network in networks)


def _bound(
    context: nova_context.RequestContext, spec: objects.RequestSpec
) -> list[str]:
    """Return the IDs of the accelerator requests of a server."""
    if not are_wanted(spec):
        return []
    try:
        return [found['uuid'] for found in cyborg.get_client(
            context).get_arqs_for_instance(spec.instance_uuid)]
    except exception.AcceleratorRequestOpFailed:
        # So Nova's client says that there are none, too.
        return []


def _delete(
    context: nova_context.RequestContext, identities: list[str]
) -> None:
    # A failure is logged by Nova's client.
    cyborg.get_client(context).delete_arqs_by_uuid(identities)
