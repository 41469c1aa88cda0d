# SPDX-License-Identifier: Apache-2.0

"""Whether a race has ended like one of the orders."""

import dataclasses
import json

EQUAL, REFUSED, DIFFERENT = 'equal', 'refused', 'different'

# A port or an attachment is deleted after it was checked and before a compute
# uses it: as when one is created with a port that is deleted there, the server
# fails on a host. A DELETE that has read a server in BUILD and goes on when a
# compute has it deletes its row, and leaves its port. What is changed while a
# create is on its way is not in the server: its conductor has read it before.
AS_CREATE = 'as a create'
# That is noticed before a compute is told: the server is buried again.
FAILED = 'failed'
# A state that an operator sets while a rebuild is on its way: the end of the
# rebuild sets another, as the end of whatever is in progress does in Nova.
OVERTAKEN = 'overtaken'
# A request looks, when it has done what it was asked for, at a server that is
# in another cell by then, as it does at one that is resized across cells.
MOVED = 'moved'
# A nova-api without the package takes a server that has left cell0 for deleted
# (204), or fails while it is in no cell (500): the server stays, and is whole.
NOT_DELETED = 'not deleted'
# A compute is told to build a server that was recovered and rebuilt meanwhile.
# It gives up, and with that the allocations that the server has now.
TOLD_LATE = 'told late'
# An update writes a build request whole, and with that undoes that "recover"
# has taken it: the next run of that finds it.
LEFT = 'left for the next run'

# A recovery buries what a conductor still works on. That one may create a row
# in the cell that its attempt names, so the entry stays, for the next rebuild.
CELL_NAMED = 'a cell is named'

NOT_DONE = 'not done'


@dataclasses.dataclass
class Played:
    """One schedule, or order, that was run.

    :param answers: of both operations.
    :param state: see :mod:`outcome`.
    :param blocked: one had to wait for a lock that the other held.
    :param verdict: of a race that ends like this one.
    """

    answers: list
    state: dict
    blocked: bool = False
    verdict: str = EQUAL

    def __str__(self):
        return f'{self.answers} {json.dumps(self.state, sort_keys=True)}'


def of(played, orders):
    """Compare a race with the orders.

    :returns: the verdict of the first that is equal; REFUSED if one is but
        for an operation that was refused as no order refuses it, without
        effect; or DIFFERENT.
    """
    alike = [order for order in orders if order.state == played.state]
    for order in alike:
        if order.answers == played.answers:
            return order.verdict
    if any(all(_is_like(answer, expected) for answer, expected in zip(
            played.answers, order.answers)) for order in alike):
        return REFUSED
    return DIFFERENT


def of_recovery(played, orders):
    """Compare a race in which one operation recovers, likewise.

    :returns: CELL_NAMED if it is like an order but for the entry of an
        attempt, which names a cell, of a server that is buried.
    """
    verdict = of(played, orders)
    if verdict != DIFFERENT:
        return verdict
    bare = dataclasses.replace(played, state=_without_named_cell(
        played.state))
    return DIFFERENT if of(bare, orders) == DIFFERENT else CELL_NAMED


def _without_named_cell(state):
    rows = state['rows']
    if 'mapped to cell0, deleted: False' not in rows:
        return state
    return {**state, 'rows': [_without_entry(row) for row in rows]}


def _without_entry(row):
    name, _, text = row.partition(': ')
    if name != 'retained' or text == 'None':
        return row
    section = json.loads(text)
    if section.get('attempt', {}).get('cells'):
        del section['attempt']
    return f'{name}: {json.dumps(section, sort_keys=True)}'


def _is_like(answer, expected):
    if answer == expected:
        return True
    if isinstance(answer, list):
        parts = expected if isinstance(expected, list) else [
            expected] * len(answer)
        return all(map(_is_like, answer, parts))
    if type(answer) is not int:
        return False
    # After 500 nobody knows whether it is done.
    return answer >= 500 or (expected == NOT_DONE and answer >= 400)
