# SPDX-License-Identifier: Apache-2.0

"""What a buried server asks for.

Placement is asked for Nova's own ``ResourceRequest``, made as
``SchedulerManager.select_destinations`` makes it, in one line.
"""

from __future__ import annotations

import copy
import dataclasses
import typing as ty

from neutronclient.common import exceptions as neutron_exc
from nova import exception
from nova.network import neutron
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import request_filter
from nova.scheduler import utils as scheduler_utils
from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild.api import scheduling
from cell0_rebuild import cells
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import location
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

_LOADED = ['flavor', 'metadata', 'system_metadata', 'pci_requests']


class NotBuried(Exception):
    """The server is not one that found no host; the text says what it is."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a server asks for.

    :param question: for Placement.
    :param spec: the RequestSpec that it is made of.
    """

    question: values.Question
    spec: objects.RequestSpec


def asked(
    context: nova_context.RequestContext, uuid: str
) -> Asked | values.Reason:
    """Return what a server asks for, or why that cannot be told.

    What is wrong with one server is in the way of no other.

    :param context: an administrator's.
    :raises NotBuried: if it has not been buried.
    """
    try:
        return asked_of(context, *read(context, uuid))
    except NotBuried:
        raise
    except Exception as error:
        return refused(error, uuid)


def asked_of(
    context: nova_context.RequestContext, instance: objects.Instance,
    spec: objects.RequestSpec,
) -> Asked:
    """Return what a server asks for that :func:`read` has found.

    :raises Exception: if that cannot be told; see :func:`refused`.
    """
    complete = _complete(context, instance, spec)
    return Asked(_question(context, complete), complete)


def read(
    context: nova_context.RequestContext, uuid: str
) -> tuple[objects.Instance, objects.RequestSpec]:
    """Return the instance and the RequestSpec of a buried server.

    :raises NotBuried: if it has not been buried.
    """
    try:
        buried = location.buried_records(context, uuid)
    except exception.InstanceMappingNotFound as error:
        raise NotBuried(f'There is no server {uuid}.') from error
    if buried is None:
        raise NotBuried(
            f'Server {uuid} is not in cell0: it has a host, had one, or is '
            f'being built. If it failed on a host, "cell0-rebuild-manage bury '
            f'--dry-run" tells whether it can be buried.')
    if buried.spec is None:
        raise NotBuried(f'Server {uuid} has no request spec.')
    try:
        return objects.Instance.get_by_uuid(
            cells.in_cell0(context), uuid,
            expected_attrs=_LOADED), buried.spec
    except exception.InstanceNotFound as error:
        raise NotBuried(f'Server {uuid} was deleted.') from error


def refused(error: Exception, uuid: str) -> values.Reason:
    """Return why it cannot be told what a server asks for.

    :param error: of Nova, or of a service that it asks.
    :raises Exception: the error itself, if it is no problem of this server: a
        database or Placement is away.
    """
    if isinstance(error, outages.ALL):
        raise error
    if isinstance(error, exception.NoValidHost):
        # Its own text names the host.
        return texts.NO_SUCH_HOST
    if isinstance(error, exception.NovaException):
        return values.Reason(values.Code.BLOCKED, error.format_message())
    db_errors.without_values(error)
    LOG.warning('It cannot be told what the server asks for: %s',
                exceptions.text(error), instance_uuid=uuid)
    if (isinstance(error, neutron_exc.NeutronClientException)
            and 400 <= error.status_code < 500):
        return texts.NEUTRON_REFUSES
    return texts.UNKNOWN_DEMANDS


class _Hosts(host_manager.HostManager):  # type: ignore[misc]
    """Finds the compute nodes of a host that was asked for.

    Nova's own also loads filters, aggregates and all instances.
    """

    def __init__(self) -> None:
        self.refresh_cells_caches()


def _complete(
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


def _question(
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
