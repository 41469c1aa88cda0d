#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Which schedules of two operations can end differently.

Two schedules that differ only in the order of sections that touch no common
table, or only read it, end alike; one of them is run.
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


def of(a, b):
    """Return the schedules of two operations.

    :param a: the sections of the first when it runs alone.
    :param b: those of the second.
    :returns: (all that there are, those that can differ).
    """
    found = [Schedule(swapped, first, second)
             for swapped, one, other in ((False, a, b), (True, b, a))
             for first, second in _different(one, other)]
    # Begun by one and resumed by the other, both are cut twice.
    return 2 * len(a) * len(b), found


def _different(one, other):
    rest = _unions(one[::-1])[::-1]
    begun = _unions(other)
    for first, second in itertools.product(
            range(len(one)), range(1, len(other) + 1)):
        if _conflict(_effect(one[first]), begun[second - 1]) and _conflict(
                _effect(other[second - 1]), rest[first]):
            yield first, second


def _effect(section):
    return _clean(section.reads), _clean(section.writes)


def _clean(tables):
    return {name for name in tables
            if name.rsplit('.', 1)[-1] not in _IGNORED}


def _unions(sections):
    found, reads, writes = [], set(), set()
    for section in sections:
        more_reads, more_writes = _effect(section)
        reads, writes = reads | more_reads, writes | more_writes
        found.append((reads, writes))
    return found


def _conflict(one, other):
    return bool(one[1] & (other[0] | other[1]) or other[1] & one[0])
