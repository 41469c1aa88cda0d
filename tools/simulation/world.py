# SPDX-License-Identifier: Apache-2.0

"""A scenario as it runs, whatever is done for those who wait."""

import heapq
import itertools

from tools.simulation import cloud
from tools.simulation import workload


class World:
    """A cloud, its clock and what is asked of it.

    :ivar now: seconds from the beginning on.
    :ivar placed: how many servers waited and got a host.
    :ivar calls: how many calls of the scheduler there were for such servers.
    :ivar inversions: how many servers were tried, or got a host where each
        tries for himself, before an older one of the same project and flavor.
    :ivar created: when servers got a host that did not wait, their projects
        and their hosts.
    """

    def __init__(self, scenario, seed, policy, spreading=True):
        """:param policy: what is done for those who found no host.

        Its ``begin`` is called with this, its ``wait`` with each request that
        the scheduler refused.
        """
        self.now, self.placed, self.calls, self.inversions = 0.0, 0, 0, 0
        self.asked = workload.Workload(scenario, seed)
        self.cloud = cloud.Cloud(spreading)
        self.created = []
        self._used = [[0.0, 0.0] for _ in self.asked.quotas]
        self._scenario, self._policy = scenario, policy
        self._events, self._order = [], itertools.count()

    def run(self):
        """Run to the end."""
        scenario = self._scenario
        for host in range(scenario.away, scenario.hosts):
            self.cloud.add(host)
        for request in self.asked.steady:
            self._place(request)
        for request in self.asked.requests:
            self.at(request.at, self._ask, request)
        for host in range(scenario.away):
            if host < scenario.down:
                self.cloud.add(host, down=True)
            self.at(scenario.hours * workload.HOUR, self.cloud.add, host)
        self._policy.begin(self)
        while self._events:
            self.now, _, act, arguments = heapq.heappop(self._events)
            if self.now >= scenario.until * workload.HOUR:
                break
            act(*arguments)

    def at(self, when, act, *arguments):
        """Have something happen."""
        heapq.heappush(
            self._events, (when, next(self._order), act, arguments))

    def retry(self, request):
        """Return a host for a server that waits; None if there is none."""
        host = self._place(request)
        self.calls += 1
        self.placed += host is not None
        return host

    def share(self, project):
        """Return which part of its quota a project uses."""
        return max(used / most for used, most in zip(
            self._used[project], self.asked.quotas[project]))

    def _place(self, request):
        host = self.cloud.schedule(request.flavor)
        if host is not None:
            request.placed_at = self.now
            self._use(request, 1)
            self.at(self.now + request.lifetime, self._end, request, host)
        return host

    def _ask(self, request):
        host = self._place(request)
        if host is None:
            self._policy.wait(request)
        else:
            self.created.append((self.now, request.project, host))

    def _end(self, request, host):
        self.cloud.end(host, request.flavor)
        self._use(request, -1)

    def _use(self, request, sign):
        used = self._used[request.project]
        used[0] += sign * request.flavor.cores
        used[1] += sign * request.flavor.ram
