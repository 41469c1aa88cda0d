# SPDX-License-Identifier: Apache-2.0

"""What a server asks the scheduler for, made anew as a create makes it.

A RequestSpec is stored without what belongs to one request: the ports'
resource requests, PCI requests for ports, accelerators. The source is
``nova.compute.api.API._validate_and_build_base_options`` and
``_provision_instances``.
"""

from __future__ import annotations

import typing as ty

from nova.accelerator import cyborg
from nova.compute import api as nova_compute_api
from nova import exception
from nova import objects
from nova.pci import request as pci_request
from nova.virt import hardware

from cell0_rebuild.api import image as images
from cell0_rebuild import nova_compat

if ty.TYPE_CHECKING:
    from nova.compute import api as compute
    from nova import context as nova_context
    from nova.network import neutron

# Fields that a create sends with the RequestSpec and Nova does not store.
_NOT_STORED = ('requested_resources', 'request_level_params',
               'network_metadata', 'requested_networks',
               'requested_destination')

# How the hints begin that Nova gives itself.
_OWN_HINTS = '_nova'


def renew(
    compute_api: compute.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec, image: images.Image,
    oldest_compute: int,
) -> None:
    """Complete the RequestSpec, and the instance with it.

    Afterwards only stored fields that differ are marked as changed.

    :param context: of the server's owner.
    :param instance: the instance to build, with its changes.
    :param spec: the stored RequestSpec, which keeps the networks.
    :param oldest_compute: the lowest version of a compute service.
    :raises PortLimitExceeded: and whatever Nova's create raises for networks
        and ports.
    """
    networks = spec.retained.requested_networks
    if compute_api._check_requested_networks(context, networks, 1) < 1:
        raise exception.PortLimitExceeded()
    _drop_own_hints(spec)
    image_meta = objects.ImageMeta.from_dict(image.meta)
    if image.is_new:
        spec.image = image_meta
        instance.numa_topology = spec.numa_topology = (
            hardware.numa_get_constraints(instance.flavor, image_meta))
    _renew_resources(
        compute_api.network_api, context, instance, spec, image_meta)
    _check_computes(compute_api, context, spec, oldest_compute)
    _renew_groups(context, instance, spec)
    spec.obj_reset_changes(
        [field for field in _NOT_STORED if spec.obj_attr_is_set(field)],
        recursive=True)


def _drop_own_hints(spec: objects.RequestSpec) -> None:
    """Drop the hints that mean something to Nova alone.

    ``nova.compute.api.API.create`` takes none from users; that of older
    releases, such as 26, does. With one of them, filters are skipped.
    """
    hints = spec.scheduler_hints if 'scheduler_hints' in spec else {}
    kept = {name: value for name, value in (hints or {}).items()
            if not name.startswith(_OWN_HINTS)}
    if kept != (hints or {}):
        spec.scheduler_hints = kept


def renew_demands(
    network_api: neutron.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
    image_meta: objects.ImageMeta,
) -> None:
    """Give the RequestSpec all that the scheduler needs, without checks.

    If nothing is retained of the server, its networks need no resources.

    :param network_api: of Nova.
    """
    _renew_resources(network_api, context, instance, spec, image_meta)
    _renew_groups(context, instance, spec)


def _renew_resources(
    network_api: neutron.API, context: nova_context.RequestContext,
    instance: objects.Instance, spec: objects.RequestSpec,
    image_meta: objects.ImageMeta,
) -> None:
    networks = spec.retained.requested_networks if spec.retained else None
    for network in networks or ():
        # Nova sets it for a port that has one now, but never takes it away.
        network.device_profile = None
    policy = hardware.get_pci_numa_policy_constraint(
        instance.flavor, image_meta)
    pci_requests = pci_request.get_pci_requests_from_flavor(
        instance.flavor, affinity_policy=policy)
    metadata, resources, parameters = network_api.create_resource_requests(
        context, networks, pci_requests, affinity_policy=policy)
    before = instance.pci_requests
    if pci_requests.requests or (before and before.requests):
        instance.pci_requests = spec.pci_requests = pci_requests
    if metadata:
        spec.network_metadata = metadata
    spec.requested_resources = list(resources)
    spec.request_level_params = parameters or objects.RequestLevelParams()


def _check_computes(
    compute_api: compute.API, context: nova_context.RequestContext,
    spec: objects.RequestSpec, oldest: int,
) -> None:
    """Check that all computes are new enough for what is asked for.

    :raises ExtendedResourceRequestOldCompute: and what Nova's other checks
        of a create raise.
    """
    networks = spec.retained.requested_networks
    nova_compat.with_oldest_compute(
        compute_api._check_support_vnic_accelerator, oldest, context,
        networks)
    compute_api._check_support_vnic_remote_managed(context, networks)
    extended = (
        nova_compute_api.MIN_COMPUTE_BOOT_WITH_EXTENDED_RESOURCE_REQUEST)
    if (spec.requested_resources and oldest < extended
            and compute_api.network_api
            .has_extended_resource_request_extension(context)):
        raise exception.ExtendedResourceRequestOldCompute()
    nova_compat.with_oldest_compute(
        compute_api._check_compute_service_for_mixed_instance, oldest,
        spec.numa_topology)


def _renew_groups(
    context: nova_context.RequestContext, instance: objects.Instance,
    spec: objects.RequestSpec,
) -> None:
    profile = instance.flavor.extra_specs.get('accel:device_profile')
    if profile:
        spec.requested_resources.extend(
            cyborg.get_device_profile_request_groups(context, profile))
    if spec.retained:
        spec.requested_destination = spec.retained.requested_destination
    nova_compat.add_pci_request_groups(spec)
