# SPDX-License-Identifier: Apache-2.0

"""What happens to a cloud."""

from __future__ import annotations

import dataclasses
import typing as ty

from tools.simulation import cloud
from tools.simulation import workload


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A cloud and what is asked of it.

    :param hosts: how many it has.
    :param away: how many of them are away at first, without servers.
    :param load: the part of the other hosts that is in use at the beginning.
    :param flood: how many servers five projects ask for, in equal parts.
    :param floods: at which hours.
    :param hours: how long servers are asked for, and hosts are away.
    :param until: the hour at which it ends.
    :param down: how many of those that are away are still offered by
        Placement.
    :param slower: how many times longer servers live than usual.
    """

    hosts: int
    away: int
    load: float
    flood: int
    floods: ty.Sequence[float]
    hours: float
    until: float
    slower: float = 1.0
    down: int = 0

    def workload(self, seed: int) -> workload.Workload:
        """Return all that is asked for; a seed always gives the same."""
        used = (self.hosts - self.away) * self.load
        return workload.Maker(seed, self.slower).make(
            used * cloud.CORES, used * cloud.RAM, self.hours, self.flood,
            [hour * workload.HOUR for hour in self.floods])


ALL = {
    'outage': Scenario(1000, 400, 0.9, 7500, (0,), 12, 18),
    'full': Scenario(1000, 0, 0.95, 6000, range(12), 12, 18),
    'trickle': Scenario(1000, 0, 0.98, 600, (0,), 24, 24, slower=10),
}
