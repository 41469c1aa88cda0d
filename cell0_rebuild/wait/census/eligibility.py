# SPDX-License-Identifier: Apache-2.0

"""Who waits, and who would but cannot."""

from __future__ import annotations

import typing as ty

from cell0_rebuild import exceptions
from cell0_rebuild.wait.census import buried
from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait import values
from cell0_rebuild.wait import wishes

if ty.TYPE_CHECKING:
    from nova import context as nova_context


def take(
    context: nova_context.RequestContext, site: wishes.Site
) -> values.Census:
    """Find all servers that wait.

    :param context: an administrator's.
    """
    census = values.Census()
    for page in buried.pages(context):
        for server in page:
            try:
                _add(census, server, site)
            except (ValueError, TypeError, AttributeError, ArithmeticError):
                census.problems[server.uuid] = (
                    'What is stored of it cannot be read.')
    return census


def _add(
    census: values.Census, server: buried.Buried, site: wishes.Site
) -> None:
    if server.is_shown:
        census.shown.add(server.uuid)
    wish = wishes.wish(server.metadata, server.extra_specs, site)
    if wish.problem is not None:
        census.problems[server.uuid] = wish.problem
    if wish.time is None:
        return
    if not server.can_be_rebuilt:
        census.problems[server.uuid] = (
            'It was buried by a nova-conductor without cell0-rebuild and '
            'cannot be rebuilt.')
        return
    try:
        decision = operator_decisions.read(server.section)
    except exceptions.Unreadable as error:
        census.problems[server.uuid] = str(error)
        census.unreadable.add(server.uuid)
        return
    if decision.ended:
        return
    census.waiting.append(values.Waiting(
        uuid=server.uuid, project_id=server.project_id,
        created_at=server.created_at,
        deadline=server.created_at + wish.time, asked=wish.asked,
        nice=wish.nice, priority=decision.priority, held=decision.held,
        locked=server.locked, failures=server.failures,
        tried_at=server.tried_at))
    if decision.held and decision.reason:
        census.held_for[server.uuid] = decision.reason
