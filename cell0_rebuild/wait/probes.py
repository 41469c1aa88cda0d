# SPDX-License-Identifier: Apache-2.0

"""Is there room? Asked of Placement; claims nothing."""

from __future__ import annotations

import dataclasses
import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report

from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    import requests


@dataclasses.dataclass(frozen=True)
class Room:
    """What Placement answers.

    :param hosts: that would fit, as far as they were counted.
    :param servers: how many of them these hosts have room for, at least.
    :param problem: why Placement refuses to look: it knows no such trait or
        resource class.
    """

    hosts: int
    servers: int = 0
    problem: str | None = None

    def __bool__(self) -> bool:
        return self.hosts > 0


def room(context: nova_context.RequestContext, query: str) -> Room:
    """Ask Placement for allocation candidates.

    :param query: what is asked for, and how many of them; see
        :mod:`queries`.
    :raises NoPlacement: if it does not answer as it should.
    """
    try:
        answer = report.report_client_singleton().get(
            f'/allocation_candidates?{query}',
            version=report.SAME_SUBTREE_VERSION,
            global_request_id=context.global_id)
    except ks_exc.ClientException as error:
        raise exceptions.NoPlacement(str(error)) from error
    if answer.status_code == 400:
        return Room(0, problem=_detail(answer))
    if answer.status_code != 200:
        raise exceptions.NoPlacement(
            f'it answers {answer.status_code}: {_detail(answer)}')
    try:
        candidates = answer.json()
        hosts = _hosts(candidates)
        # Placement may offer what is full, if it is told to be quick.
        return Room(hosts, max(hosts, _servers(candidates)))
    except (ValueError, LookupError, TypeError, AttributeError,
            ArithmeticError) as error:
        raise exceptions.NoPlacement(
            f'it answers what cannot be read: {answer.text[:100]}') from error


def _hosts(candidates: ty.Any) -> int:
    providers = {provider for request in candidates['allocation_requests']
                 for provider in request['allocations']}
    return len({
        candidates['provider_summaries'][provider]['root_provider_uuid']
        for provider in providers})


def _servers(candidates: ty.Any) -> int:
    """Return how many servers fit, each candidate used up in its turn."""
    # Two candidates may be on the same host.
    free = {(provider, name): stock['capacity'] - stock['used']
            for provider, summary in candidates['provider_summaries'].items()
            for name, stock in summary['resources'].items()}
    servers = 0
    for request in candidates['allocation_requests']:
        amounts = {(provider, name): amount
                   for provider, asked in request['allocations'].items()
                   for name, amount in asked['resources'].items()}
        fit = max(0, min(free[key] // amount
                         for key, amount in amounts.items()))
        servers += fit
        for key, amount in amounts.items():
            free[key] -= fit * amount
    return servers


def _detail(answer: requests.Response) -> str:
    try:
        return str(answer.json()['errors'][0]['detail'])
    except (ValueError, LookupError, TypeError):
        return str(answer.text)
