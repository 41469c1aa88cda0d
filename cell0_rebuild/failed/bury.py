# SPDX-License-Identifier: Apache-2.0

"""Bury a server that has failed on a compute, when that is proven over."""

from __future__ import annotations

import contextlib
import typing as ty

from nova import exception

from cell0_rebuild.conductor import resource_claims
from cell0_rebuild.failed import asking
from cell0_rebuild.failed import records
from cell0_rebuild.failed import verdict
from cell0_rebuild.move import into_cell0

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def check(
    context: nova_context.RequestContext, instance_uuid: str
) -> records.Record:
    """Return a server that can be buried, if its compute says so, too.

    :raises NotFailed: if it is not in a real cell.
    :raises NotAtRest: if it cannot be buried.
    :raises Unreadable: if this package cannot read what is kept of it.
    """
    found = records.read(context, instance_uuid)
    reason = verdict.why_not(found.known)
    if reason is not None:
        raise asking.NotAtRest(reason)
    return found


def bury(context: nova_context.RequestContext, instance_uuid: str) -> None:
    """Bury a server that has failed in its only build.

    :raises NotFailed: if it is not in a real cell.
    :raises NotAtRest: if it is not proven that nobody works on it.
    :raises Unreadable: if this package cannot read what is stored of it.
    """
    found = check(context, instance_uuid)
    asking.wait_for_build(found.instance, found.cell, found.host)
    asking.check_no_guest(found.instance, found.cell, found.host)
    asking.check_no_ports(context, instance_uuid)

    def is_still_so() -> bool:
        again = records.read(context, instance_uuid)
        return verdict.why_not(again.known) is None and (
            again.known.last_builds == found.known.last_builds)

    assert found.retained is not None
    is_buried = False
    # A compute may have it, by a rebuild after another burial.
    with contextlib.suppress(exception.ObjectActionError):
        is_buried = into_cell0.bury(
            context, instance_uuid, found.cell, found.retained,
            found.availability_zone, is_still_so)
    if not is_buried:
        raise asking.NotAtRest(asking.CHANGED)
    resource_claims.release_all(context, instance_uuid)
