# SPDX-License-Identifier: Apache-2.0

"""The mapping of a host to its cell; without one, Nova buries servers."""

from nova import context as nova_context
from nova import objects


def remove(host):
    """Leave a host in no cell, as one is before ``discover_hosts``."""
    objects.HostMapping.get_by_host(
        nova_context.get_admin_context(), host).destroy()


def add(host, cell):
    """Map a host to its cell, as ``discover_hosts`` does."""
    objects.HostMapping(
        nova_context.get_admin_context(), host=host,
        cell_mapping=cell).create()
