# SPDX-License-Identifier: Apache-2.0

"""Check that what a server needs is still there.

The source is ``nova.compute.api.API.create`` and what it calls.
``reference/checks.rst`` says where each of its checks is made, or why not.
"""

from __future__ import annotations

import typing as ty

from nova import availability_zones
from nova import exception
from nova.network import neutron
import webob.exc

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context
    from nova import objects


def check(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
) -> None:
    """Check that what the owner asked for at create is still there.

    :param context: of the server's owner.
    :param spec: its stored RequestSpec.
    :raises HTTPBadRequest: if a security group or the zone is gone.
    :raises ComputeHostNotFound: if the requested host or node is.
    """
    _check_zone(compute_api, context, spec)
    _check_destination(
        compute_api, context, spec.retained.requested_destination)
    _check_security_groups(compute_api.network_api, context, instance, spec)


def _check_zone(
    compute_api: compute.API, context: nova_context.RequestContext,
    spec: objects.RequestSpec,
) -> None:
    zone = spec.availability_zone
    # As for a create: who forces a host is not asked for its zone.
    if zone is None or spec.force_hosts:
        return
    if zone not in availability_zones.get_availability_zones(
            context.elevated(), compute_api.host_api,
            get_only_available=True):
        raise webob.exc.HTTPBadRequest(
            explanation=f'Availability zone {zone} of server '
                        f'{spec.instance_uuid} is not available. Try again '
                        f'later; operators: no compute of the zone is up and '
                        f'enabled.')


def _check_destination(
    compute_api: compute.API, context: nova_context.RequestContext,
    destination: objects.Destination | None,
) -> None:
    if destination is not None:
        compute_api._validate_host_or_node(
            context, destination.host if 'host' in destination else None,
            destination.node)


def _check_security_groups(
    network_api: neutron.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
) -> None:
    """Look for the groups as the compute will.

    A create looks for each group on its own. For an operator's service, this
    would find a group that the server's project may no longer use.
    """
    networks = spec.retained.requested_networks
    if networks is not None and networks.no_allocate:
        return
    groups = network_api._clean_security_groups(
        [group.identifier for group in spec.security_groups])
    if not groups:
        return
    try:
        network_api._process_security_groups(
            instance, neutron.get_client(context), groups)
    except exception.SecurityGroupNotFound as error:
        raise webob.exc.HTTPBadRequest(
            explanation=f'{error.format_message()} Server {instance.uuid} '
                        f'was created with it, and a rebuild from cell0 '
                        f'cannot change that. Delete the server and create '
                        f'it again.') from error
