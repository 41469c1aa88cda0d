# SPDX-License-Identifier: Apache-2.0

"""Which schedules of two operations can end differently.

Two sections are in conflict if they touch the same table and not both only
read it. Two schedules in which all that are in conflict have the same order
end alike; one of them is run, and none of those that are like one operation
after the other.
"""

import dataclasses
import itertools

# A table that is one for all servers, or that every process writes for itself.
_IGNORED = {'services', 'compute_nodes', 'cell_mappings', 'host_mappings'}


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The first runs to a stop, the second to a stop, the first, the second.

    :param swapped: the second operation of the pair begins.
    """

    swapped: bool
    first: int
    second: int

    def __str__(self):
        names = 'BA' if self.swapped else 'AB'
        return f'{names[0]}:{self.first} {names[1]}:{self.second}'


def of(a, b, same=False):
    """Return the schedules of two operations.

    :param a: the sections of the first when it runs alone.
    :param b: those of the second.
    :param same: they do the same, so that it is no matter which begins.
    :returns: (all that there are, those that can differ).
    """
    every = [
        Schedule(swapped, first, second)
        for swapped in ((False,) if same else (False, True))
        for first, second in itertools.product(
            range(same, len(b if swapped else a)),
            range(1, len(a if swapped else b) + 1))]
    conflicts = _Conflicts(a, b)
    seen = {0, conflicts.all}
    return len(every), [
        schedule for schedule in every
        if not _is_in(seen, conflicts.ordered_by(schedule))]


def _is_in(seen, order):
    known = order in seen
    seen.add(order)
    return known


class _Conflicts:
    """The pairs of sections that are in conflict, each a bit of a number."""

    def __init__(self, a, b):
        pairs = [(x, y) for x, y in itertools.product(
            range(len(a)), range(len(b)))
            if _conflict(_effect(a[x]), _effect(b[y]))]
        self.all = 2 ** len(pairs) - 1
        # Those of the first sections of a, and all but those of b.
        self._begun = [_bits(x < n for x, _ in pairs)
                       for n in range(len(a) + 1)]
        self._rest = [_bits(y >= n for _, y in pairs)
                      for n in range(len(b) + 1)]

    def ordered_by(self, schedule):
        """Return those in which the section of a is first."""
        if schedule.swapped:
            return self._rest[schedule.first] & self._begun[schedule.second]
        return self._begun[schedule.first] | self._rest[schedule.second]


def _bits(values):
    return sum(value << number for number, value in enumerate(values))


def _effect(section):
    return _clean(section.reads), _clean(section.writes)


def _clean(tables):
    return {name for name in tables
            if name.rsplit('.', 1)[-1] not in _IGNORED}


def _conflict(one, other):
    return bool(one[1] & (other[0] | other[1]) or other[1] & one[0])
