# SPDX-License-Identifier: Apache-2.0

"""Hosts, and what Placement and the scheduler say of them."""

from __future__ import annotations

import collections
import dataclasses

from cell0_rebuild.wait import values
from tools.simulation import workload

# Assumed: all hosts are alike, with these cores and GiB.
CORES, RAM = 48, 160.0

# Assumed: one host in fifty has room that the filters refuse to large
# servers, as they do for NUMA cells, PCI devices and affinity.
_ODD = 50
_LARGE = 4


@dataclasses.dataclass(frozen=True)
class _Room:
    """What is free on hosts.

    :param refused: from how many cores on the filters refuse a server there.
    """

    cores: int
    ram: float
    refused: int

    def has(self, flavor: workload.Flavor) -> bool:
        """Tell whether Placement offers it."""
        return self.cores >= flavor.cores and self.ram >= flavor.ram

    def servers(self, flavor: workload.Flavor) -> int:
        """Return how many servers Placement sees room for on a host."""
        return min(self.cores // flavor.cores, int(self.ram // flavor.ram))

    def passes(self, flavor: workload.Flavor) -> bool:
        """Tell whether the scheduler takes it."""
        return self.has(flavor) and flavor.cores < self.refused


class Cloud:
    """Hosts by what is free on them: many have the same."""

    def __init__(self, spreading: bool) -> None:
        """:param spreading: else Nova's weighers are negative: it packs."""
        self._sign = 1 if spreading else -1
        self._rooms: dict[_Room, set[int]] = collections.defaultdict(set)
        self._room_of: dict[int, _Room] = {}
        # What was found since something has changed.
        self._offered: dict[workload.Flavor, values.Room] = {}
        self._taken: dict[workload.Flavor, bool] = {}

    def add(self, host: int, down: bool = False) -> None:
        """Add an empty host, or change one that is.

        :param down: whether the filters refuse everything there, which
            Placement does not know.
        """
        if host in self._room_of:
            self._take(host)
        self._put(host, _Room(CORES, RAM, (
            1 if down else CORES + 1 if host % _ODD else _LARGE)))

    def offers(self, flavor: workload.Flavor) -> values.Room:
        """Return what Placement offers."""
        if flavor not in self._offered:
            fitting = [(room.servers(flavor), len(hosts))
                       for room, hosts in self._rooms.items()
                       if room.has(flavor)]
            self._offered[flavor] = values.Room(
                sum(hosts for _, hosts in fitting),
                sum(servers * hosts for servers, hosts in fitting))
        return self._offered[flavor]

    def takes(self, flavor: workload.Flavor) -> bool:
        """Tell whether the scheduler would find a host."""
        if flavor not in self._taken:
            self._taken[flavor] = any(
                room.passes(flavor) for room in self._rooms)
        return self._taken[flavor]

    def schedule(self, flavor: workload.Flavor) -> int | None:
        """Claim room on the host that Nova's weighers like best.

        :returns: None if there is none.
        """
        if not self.takes(flavor):
            return None
        host = next(iter(self._rooms[self._best(flavor)]))
        self._change(host, -flavor.cores, -flavor.ram)
        return host

    def end(self, host: int, flavor: workload.Flavor) -> None:
        """Free what a server had."""
        self._change(host, flavor.cores, flavor.ram)

    def _best(self, flavor: workload.Flavor) -> _Room:
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

    def _change(self, host: int, cores: int, ram: float) -> None:
        room = self._take(host)
        self._put(host, _Room(
            room.cores + cores, room.ram + ram, room.refused))

    def _take(self, host: int) -> _Room:
        room = self._room_of[host]
        hosts = self._rooms[room]
        hosts.remove(host)
        if not hosts:
            del self._rooms[room]
        return room

    def _put(self, host: int, room: _Room) -> None:
        self._rooms[room].add(host)
        self._room_of[host] = room
        self._offered.clear()
        self._taken.clear()
