# SPDX-License-Identifier: Apache-2.0

"""What is done today for servers that found no host."""

import collections

# Has no factor in common with the number of groups.
_STEP = 7919


class Owners:
    """Have servers tried again and again, a group of them at a time."""

    def __init__(self, seconds, groups, together):
        """:param seconds: after which each group is tried again.

        :param groups: how many there are; each server is in one.
        :param together: of which servers of a group are tried one after the
            other: a function of their requests.
        """
        self._pause, self._together = seconds / groups, together
        self._groups = [
            collections.defaultdict(list) for _ in range(groups)]
        # By project and flavor, in the order in which they came.
        self._alike = collections.defaultdict(dict)

    def begin(self, world):
        """Begin with nobody."""
        self._world = world
        world.at(self._pause, self._try, 1)

    def wait(self, request):
        """Have a server wait."""
        # Those who began together do not stay in step.
        group = self._groups[request.number * _STEP % len(self._groups)]
        group[self._together(request)].append(request)
        self._alike[request.project, request.flavor][request.number] = request

    def _try(self, number):
        group = self._groups[number % len(self._groups)]
        for key, requests in group.items():
            group[key] = [
                one for one in requests if not self._retry(one)]
        self._world.at((number + 1) * self._pause, self._try, number + 1)

    def _retry(self, request):
        placed = self._world.retry(request) is not None
        if placed:
            alike = self._alike[request.project, request.flavor]
            self._world.inversions += next(iter(alike)) != request.number
            del alike[request.number]
        return placed


def polling():
    """Return owners who delete and create again, each every two minutes."""
    return Owners(120, 120, lambda request: request.flavor)


def blind():
    """Return somebody who rebuilds all that wait, the oldest first."""
    return Owners(300, 1, lambda request: None)
