# SPDX-License-Identifier: Apache-2.0

"""The shape of a server: what it asks Placement for, in one line.

Servers of one shape fit or do not fit together. It is Nova's own
``ResourceRequest``, made as ``SchedulerManager.select_destinations`` makes
it.
"""

from __future__ import annotations

import copy
import typing as ty

from nova.network import neutron
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import request_filter
from nova.scheduler import utils as scheduler_utils
from oslo_config import cfg

from cell0_rebuild.api import scheduling
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context


class _Hosts(host_manager.HostManager):  # type: ignore[misc]
    """Finds the compute nodes of a host that was asked for.

    Nova's own also loads filters, aggregates and all instances.
    """

    def __init__(self) -> None:
        self.refresh_cells_caches()


def complete(
    context: nova_context.RequestContext, instance: objects.Instance,
    spec: objects.RequestSpec,
) -> objects.RequestSpec:
    """Return a copy of a RequestSpec that a scheduler can work with.

    :param instance: the server in cell0, with flavor and PCI requests; not
        changed.
    :param spec: as it was read. If its networks are unknown, nothing is asked
        for them.
    :raises NovaException: if a port or a device profile is gone.
    """
    retained = copy.deepcopy(spec.retained)
    spec, instance = copy.deepcopy(spec), copy.deepcopy(instance)
    # Versioned objects copy their fields alone.
    spec.retained = retained
    image = spec.image if 'image' in spec and spec.image else (
        objects.ImageMeta(properties=objects.ImageMetaProps()))
    scheduling.renew_demands(neutron.API(), context, instance, spec, image)
    return spec


def question(
    context: nova_context.RequestContext, spec: objects.RequestSpec
) -> values.Question:
    """Return what a server asks Placement for.

    A host may pin CPUs and report no PCPU. So the scheduler asks for VCPU,
    too, unless ``[workarounds] disable_fallback_pcpu_query`` is set.

    :param spec: a complete RequestSpec; not changed.
    :raises NoValidHost: if the host that was asked for is not there.
    :raises RequestFilterFailed: if Nova has nobody to ask, say because the
        project has no aggregate.
    """
    spec = copy.deepcopy(spec)
    request_filter.process_reqspec(context, spec)
    hosts = _Hosts()
    request = scheduler_utils.resources_from_request_spec(
        context, spec, hosts)
    first = str(request.to_querystring())
    if (not request.cpu_pinning_requested
            or cfg.CONF.workarounds.disable_fallback_pcpu_query):
        return values.Question(first)
    fallback = scheduler_utils.resources_from_request_spec(
        context, spec, hosts, enable_pinning_translate=False)
    return values.Question(first, str(fallback.to_querystring()))
