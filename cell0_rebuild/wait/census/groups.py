# SPDX-License-Identifier: Apache-2.0

"""Where the members of server groups are, which filters look at.

Placement knows nothing of groups. The filters are Nova's
``ServerGroupAntiAffinityFilter`` and ``ServerGroupAffinityFilter``.
"""

from __future__ import annotations

import collections
import collections.abc
import typing as ty

from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova.db.main import api as main_db_api
from nova.db.main import models
from oslo_serialization import jsonutils
import sqlalchemy as sa

from cell0_rebuild.wait.census import down_cells
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def of(
    context: nova_context.RequestContext, uuids: collections.abc.Set[str],
    down: down_cells.DownCells,
) -> dict[str, values.Members]:
    """Return where the members of groups are.

    It takes one statement, and one more for each cell. Who is in a cell whose
    database is away is nowhere.

    :param context: an administrator's.
    :param uuids: of groups with hard policies; one that is gone has nobody.
    :param down: the cells that are away; changed.
    """
    found = _groups(context, uuids)
    members = {row.instance_uuid for rows in found.values() for row in rows}
    providers = dict(down.in_each(
        context, lambda cctxt: _providers(cctxt, members))) if members else {}
    return {uuid: _members(found[uuid], providers) if uuid in found
            else values.Members() for uuid in uuids}


def _members(
    rows: list[ty.Any], providers: dict[str, str]
) -> values.Members:
    """:param rows: those of one group."""
    count = collections.Counter(
        providers[row.instance_uuid] for row in rows
        if row.instance_uuid in providers)
    if rows[0].policy == 'affinity':
        return values.Members(only=frozenset(count) or None)
    most = int(jsonutils.loads(rows[0].rules or '{}').get(
        'max_server_per_host', 1))
    return values.Members(frozenset(
        provider for provider, number in count.items() if number >= most))


@api_db_api.context_manager.reader
def _groups(
    context: nova_context.RequestContext, uuids: collections.abc.Set[str]
) -> dict[str, list[ty.Any]]:
    group, policy = api_models.InstanceGroup, api_models.InstanceGroupPolicy
    member = api_models.InstanceGroupMember
    found: dict[str, list[ty.Any]] = {}
    for row in context.session.query(
            group.uuid, policy.policy, policy.rules, member.instance_uuid,
    ).join(policy, policy.group_id == group.id).join(
            member, member.group_id == group.id).filter(group.uuid.in_(uuids)):
        found.setdefault(row.uuid, []).append(row)
    return found


@main_db_api.pick_context_manager_reader
def _providers(
    context: nova_context.RequestContext, uuids: collections.abc.Set[str]
) -> list[tuple[str, str]]:
    """Return servers, each with the root provider of its host."""
    instance, node = models.Instance, models.ComputeNode
    return [tuple(row) for row in context.session.query(
        instance.uuid, node.uuid).join(node, sa.and_(
            node.host == instance.host,
            node.hypervisor_hostname == instance.node)).filter(
        instance.uuid.in_(uuids), instance.deleted == 0, node.deleted == 0)]
