# SPDX-License-Identifier: Apache-2.0

"""Hosts, and what Placement and the scheduler say of them."""

import collections
import functools
import typing as ty

from cell0_rebuild.wait import values
from tools.simulation import workload

# Assumed: one host in fifty has room that the filters refuse to large
# servers, as they do for NUMA cells, PCI devices and affinity.
_ODD, _LARGE = 50, 4


class _Room(ty.NamedTuple):
    """What is free on hosts.

    :param refused: from how many cores on the filters refuse a server there.
    """

    cores: int
    ram: float
    refused: int

    def servers(self, flavor):
        """Return how many servers Placement sees room for on a host."""
        return min(self.cores // flavor.cores, int(self.ram // flavor.ram))

    def passes(self, flavor):
        """Tell whether the scheduler takes one."""
        return flavor.cores < self.refused and self.servers(flavor) > 0


class Cloud:
    """Hosts by what is free on them: many have the same."""

    def __init__(self, spreading):
        """:param spreading: else Nova's weighers are negative: it packs."""
        self._sign = 1 if spreading else -1
        self._rooms = collections.defaultdict(set)
        self._room_of = {}
        # They say the same until something changes.
        self.offers = functools.cache(self._offers)
        self.takes = functools.cache(self._takes)

    def add(self, host, down=False):
        """Add an empty host, or change one that is.

        :param down: whether the filters refuse everything there, which
            Placement does not know.
        """
        self._put(host, _Room(workload.CORES, workload.RAM, (
            1 if down else workload.CORES + 1 if host % _ODD else _LARGE)))

    def _offers(self, flavor):
        """Return what Placement offers."""
        fitting = [(room.servers(flavor), len(hosts))
                   for room, hosts in self._rooms.items()
                   if room.servers(flavor)]
        return values.Room(
            sum(hosts for _, hosts in fitting),
            sum(servers * hosts for servers, hosts in fitting))

    def _takes(self, flavor):
        """Tell whether the scheduler would find a host."""
        return any(room.passes(flavor) for room in self._rooms)

    def schedule(self, flavor):
        """Claim room on the host that Nova's weighers like best.

        :returns: None if there is none.
        """
        if not self.takes(flavor):
            return None
        host = next(iter(self._rooms[self._best(flavor)]))
        self._change(host, flavor, -1)
        return host

    def end(self, host, flavor):
        """Free what a server had."""
        self._change(host, flavor, 1)

    def _best(self, flavor):
        """Return what has the greatest weight: free RAM and free cores.

        Nova gives each the same weight, from 0 for the host with the least
        of it to 1 for that with the most.
        """
        rooms = [room for room in self._rooms if room.passes(flavor)]
        cores = [room.cores for room in rooms]
        ram = [room.ram for room in rooms]
        least_cores, least_ram = min(cores), min(ram)
        by_cores = self._sign / ((max(cores) - least_cores) or 1)
        by_ram = self._sign / ((max(ram) - least_ram) or 1)
        return max(rooms, key=lambda room: (
            (room.cores - least_cores) * by_cores
            + (room.ram - least_ram) * by_ram))

    def _change(self, host, flavor, sign):
        room = self._room_of[host]
        self._put(host, room._replace(
            cores=room.cores + sign * flavor.cores,
            ram=room.ram + sign * flavor.ram))

    def _put(self, host, room):
        """Have a host have this room."""
        if host in self._room_of:
            before = self._room_of[host]
            self._rooms[before].remove(host)
            if not self._rooms[before]:
                del self._rooms[before]
        self._rooms[room].add(host)
        self._room_of[host] = room
        self.offers.cache_clear()
        self.takes.cache_clear()
