# SPDX-License-Identifier: Apache-2.0

"""How two operations may end that are not done one after the other.

Each function takes orders that were played, and returns others like them.
"""

import dataclasses

from tests.races import operations
from tests.races import verdicts


def not_taken_back(b, other):
    """Return what a recovery leaves to whom it meets."""
    if b == 'lock':
        return []
    # It leaves alone what is moved, or changed, just then.
    left = dataclasses.replace(other, answers=[False, other.answers[1]])
    if b != 'update':
        return [left]
    return [left, dataclasses.replace(
        left, verdict=verdicts.LEFT, answers=[True, left.answers[1]],
        state={**left.state, 'rows': [
            row.replace(', hidden', '') for row in left.state['rows']]})]


def of_failed_create(a, b, orders):
    """Return how else it may end where a create fails that has a host."""
    if (a, b) in (('unbound', 'reset'), (operations.COMMAND, 'reset')):
        return [overtaken(orders[2], orders[0])]
    if (a, b) == (operations.COMMAND, 'recover'):
        return _command_recovered(orders[0])
    if a not in ('over_quota', 'unbound'):
        return []
    if b == 'update':
        return [dataclasses.replace(
            orders[0], answers=[None, 200], verdict=verdicts.AS_CREATE)]
    if (a, b) == ('unbound', 'recover'):
        return _burial_recovered(orders[0])
    return []


def _burial_recovered(order):
    """Return how the burial of a server in a cell ends that is recovered.

    The history tells that, or the server stays as Nova leaves it.
    """
    recovered = dataclasses.replace(order, answers=[None, None])
    return [
        dataclasses.replace(recovered, state={
            **order.state, 'actions': ['create', 'rebuild']}),
        dataclasses.replace(recovered, verdict=verdicts.AS_CREATE, state={
            **order.state, 'allocations': True, 'rows': [
                'cell1: error/None', 'mapped to cell1, deleted: False',
                'retained: None']})]


def _command_recovered(order):
    """Return how the burial by an operator ends that is recovered.

    The history tells that. Who runs the command may not learn that it is done.
    """
    return [dataclasses.replace(
        order, answers=[answer, None],
        state={**order.state, 'actions': ['create', 'rebuild']})
        for answer in order.answers]


def half_deleted(order):
    """Return an order after which a port is still bound to the server."""
    return dataclasses.replace(
        order, state={**order.state, 'ports': 1}, verdict=verdicts.AS_CREATE)


def told_late(stops, orders):
    """Return what a compute leaves that is told late of a rebuild.

    :param stops: before what each operation stops, while the other goes on;
        None if it has ended.
    """
    if 'again' not in stops or (
            stops.get('deliver') != 'cast build_and_run_instance'):
        return []
    return [dataclasses.replace(
        order, state={**order.state, 'allocations': False},
        verdict=verdicts.TOLD_LATE) for order in orders]


def of_two_requests(order):
    """Return the other answers to a reset and a tag after a rebuild.

    The reset may be refused and not be needed any more. A tag that is set in
    cell0 and then carried over is not found there at the end of its request.
    """
    return [
        dataclasses.replace(order, answers=[
            order.answers[0], [verdicts.NOT_DONE, order.answers[1][1]]]),
        dataclasses.replace(
            order, verdict=verdicts.MOVED,
            answers=[order.answers[0], [order.answers[1][0], 404]])]


def overtaken(order, alone):
    """Return an order with the state that the first operation alone sets."""
    return dataclasses.replace(
        order, verdict=verdicts.OVERTAKEN, state={**order.state, **{
            name: alone.state[name] for name in ('status', 'listed', 'rows')}})
