# SPDX-License-Identifier: Apache-2.0

"""What the filters of the scheduler read, and Placement is not told.

Of servers that ask Placement for the same, a filter may refuse some and take
others: for their image, for the hints or the extra specs, or for their
project. Names, networks and what else is a server's own are left out, so that
there are few kinds however many servers there are.
"""

from __future__ import annotations

import hashlib
import typing as ty

from oslo_serialization import jsonutils

if ty.TYPE_CHECKING:
    from nova import objects


def of(spec: objects.RequestSpec) -> str:
    """Return a value that is the same for servers that filters take alike.

    :param spec: a complete RequestSpec.
    """
    text = jsonutils.dumps([
        spec.project_id, spec.flavor.name, spec.flavor.extra_specs,
        _image(spec), _get(spec, 'scheduler_hints'), _devices(spec),
        _networks(spec)], sort_keys=True)
    return hashlib.sha256(text.encode(errors='replace')).hexdigest()


def _get(spec: objects.RequestSpec, name: str) -> ty.Any:
    return getattr(spec, name) if name in spec else None


def _image(spec: objects.RequestSpec) -> dict[str, ty.Any] | None:
    image = _get(spec, 'image')
    if image is None or 'properties' not in image:
        return None
    # Else it tells also which of them were changed last.
    return dict(image.properties.obj_to_primitive()['nova_object.data'])


def _devices(spec: objects.RequestSpec) -> list[str]:
    """Return what PCI devices are asked for, without by which port."""
    requests = _get(spec, 'pci_requests')
    return [] if requests is None else sorted(
        jsonutils.dumps([request.count, request.spec, request.numa_policy],
                        sort_keys=True) for request in requests.requests)


def _networks(spec: objects.RequestSpec) -> list[ty.Any] | None:
    metadata = _get(spec, 'network_metadata')
    return metadata and [sorted(metadata.physnets), metadata.tunneled]
