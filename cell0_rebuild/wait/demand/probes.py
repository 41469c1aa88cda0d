# SPDX-License-Identifier: Apache-2.0

"""Is there room? Asked of Placement; claims nothing."""

from __future__ import annotations

import typing as ty

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import queries
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    import requests

# Of the first resource classes.
_CLASSES_VERSION = '1.2'

# The question is wrong or too long, and nothing is wrong with Placement.
_REFUSED = (400, 413, 414, 431)


def room(
    context: nova_context.RequestContext, query: str,
    most: int | None = None, is_fallback: bool = False,
) -> values.Room:
    """Ask Placement for allocation candidates.

    :param query: what is asked for.
    :param most: how many candidates are enough. A host may be several.
    :param is_fallback: whether it asks for VCPU in place of PCPU. A host that
        reports PCPU pins no CPU elsewhere, and does not count.
    :raises NoPlacement: if it does not answer as it should.
    """
    limited = query if most is None else queries.limited(query, most)
    try:
        answer = report.report_client_singleton().get(
            f'/allocation_candidates?{limited}',
            version=report.SAME_SUBTREE_VERSION,
            global_request_id=context.global_id)
    except ks_exc.ClientException as error:
        raise exceptions.NoPlacement(str(error)) from error
    if answer.status_code in _REFUSED:
        return values.Room(0, problem=(
            values.Reason(values.Code.CAPACITY, _detail(answer))
            if answer.status_code == 400 else texts.PLACEMENT_REFUSES))
    if answer.status_code != 200:
        raise exceptions.NoPlacement(
            f'it answers {answer.status_code}: {_detail(answer)}')
    try:
        candidates = answer.json()
        is_cut = most is not None and (
            len(candidates['allocation_requests']) >= most)
        if is_fallback:
            candidates = _without_pcpu(candidates)
        hosts = _hosts(candidates)
        # Placement may offer what is full, if it is told to be quick.
        return values.Room(
            len(hosts), max(len(hosts), _servers(candidates)),
            is_fallback=is_fallback, providers=hosts, is_cut=is_cut)
    except (ValueError, LookupError, TypeError, AttributeError,
            ArithmeticError) as error:
        raise exceptions.NoPlacement(
            f'it answers what cannot be read: {answer.text[:100]}') from error


def check(context: nova_context.RequestContext) -> None:
    """Check that Placement answers what is no problem to it.

    :raises NoPlacement: if it does not.
    """
    try:
        answer = report.report_client_singleton().get(
            '/resource_classes/VCPU', version=_CLASSES_VERSION,
            global_request_id=context.global_id)
    except ks_exc.ClientException as error:
        raise exceptions.NoPlacement(str(error)) from error
    if answer.status_code >= 500:
        raise exceptions.NoPlacement(
            f'it answers {answer.status_code}: {_detail(answer)}')


def answer(
    context: nova_context.RequestContext, question: values.Question,
    most: int | None = None,
) -> values.Room:
    """Return the room for a question, or for what else will do.

    :param most: how many candidates are enough. The fallback is not limited:
        those that do not count may come first.
    :raises NoPlacement: if it does not answer as it should.
    """
    query, fallback = question
    found = room(context, query, most)
    if found or fallback is None:
        return found
    return room(context, fallback, is_fallback=True) or found


def _without_pcpu(candidates: ty.Any) -> ty.Any:
    """Return the candidates on hosts that report no PCPU."""
    pinning = {summary['root_provider_uuid']
               for summary in candidates['provider_summaries'].values()
               if 'PCPU' in summary['resources']}
    return {**candidates, 'allocation_requests': [
        request for request in candidates['allocation_requests']
        if not pinning & _roots(candidates, request)]}


def _hosts(candidates: ty.Any) -> frozenset[str]:
    return frozenset[str]().union(*(
        _roots(candidates, request)
        for request in candidates['allocation_requests']))


def _roots(candidates: ty.Any, request: ty.Any) -> set[str]:
    return {candidates['provider_summaries'][provider]['root_provider_uuid']
            for provider in request['allocations']}


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
