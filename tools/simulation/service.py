# SPDX-License-Identifier: Apache-2.0

"""The service's own sweep, on a cloud that is not there."""

import collections
import dataclasses
import datetime
import itertools
import uuid

from cell0_rebuild.wait.decision import candidates
from cell0_rebuild.wait.decision import order
from cell0_rebuild.wait.decision import pacing
from cell0_rebuild.wait import sweep
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import samples
from tools.simulation import workload

# Seconds that Placement takes for a probe of a full cloud; measured.
PROBE = 0.03
# Assumed: seconds from a request to the claim, and from there to ACTIVE.
_CLAIM, BUILD = 0.5, 20.0


@dataclasses.dataclass(eq=False)
class Server:
    """A server that waits, as the simulation and as the service know it."""

    request: workload.Request
    kind: values.Kind
    record: values.Waiting


def moment(seconds):
    """Return when a moment of the simulation is."""
    return samples.NOON + datetime.timedelta(seconds=seconds)


class Service:
    """The eyes and the hands of a sweeper, and those whom it tells.

    What is not defined here is never called.
    """

    def __init__(self, policy, aging=order.A_WHOLE_QUOTA):
        """:param policy: ``fair`` or ``fifo``."""
        self._section = samples.section(order=policy)
        # A larger share is as good as a longer time.
        self._aging = aging / order.A_WHOLE_QUOTA
        # The servers of each kind, which all are of one project.
        self._queues = collections.defaultdict(list)
        self._known, self._ended, self._sent = {}, {}, set()
        self._builds = collections.deque(maxlen=10)
        # How long a sweep has waited for answers by now.
        self._spent = 0.0
        self._flavors = {values.Question(
            f'resources=VCPU:{flavor.cores},MEMORY_MB:{flavor.ram * 1024:.0f}'
        ): flavor for flavor in workload.FLAVORS}
        self._shapes = {flavor: values.Shape(question)
                        for question, flavor in self._flavors.items()}

    def begin(self, world):
        """Begin with nobody."""
        self._world = world
        self._sweeper = sweep.Sweeper(
            lambda: self._section, self, self, self, self, self._now)
        world.at(0.0, self._turn)

    def _now(self):
        seconds = self._world.now + self._spent
        return values.Now(moment(seconds), seconds)

    def wait(self, request):
        """Have a server wait that asked for it."""
        record = values.Waiting(
            str(uuid.UUID(int=request.number)), str(request.project),
            moment(request.at), datetime.datetime.max, True)
        # Those of other projects have others.
        kind = values.Kind(self._shapes[request.flavor], record.project_id)
        server = self._known[record.uuid] = Server(request, kind, record)
        self._queues[kind].append(server)

    def _turn(self):
        self._spent, self._after = 0.0, itertools.count(1)
        swept = self._sweeper.sweep()
        shapes = {kind.shape for kind, servers in self._queues.items()
                  if servers}
        asks_in = swept.asks_in + pacing.asks_in(
            len(shapes) * PROBE, self._section.probe_budget)
        self._world.at(
            self._now().seconds + pacing.interval(asks_in, False, False),
            self._turn)

    def census(self):
        """Return those who can be sent: of a kind no more than at once.

        To order the others, too, would be most of the work.
        """
        return values.Census([
            server.record for kind, servers in self._queues.items()
            if self.room(kind.shape.question) for server in itertools.islice(
                filter(self._is_ready, servers), self._section.at_once)])

    def _is_ready(self, server):
        return (server.record.uuid not in self._sent
                and candidates.why_held(
                    server.record, self._section, self._now().utc) is None)

    def kinds(self, uuids, waiting):
        """Return what each asks for."""
        return {one: self._known[one].kind for one in uuids}

    def state(self, uuid):
        """Tell where a server is."""
        if uuid not in self._ended:
            return values.State.SENT
        at, state, host = self._ended[uuid]
        if at > self._world.now:
            return values.State.SPAWNING
        self._sent.discard(uuid)
        del self._ended[uuid]
        if state is values.State.LANDED:
            self._builds.append(values.Build(
                uuid, self._known[uuid].record.project_id, state,
                self._now().utc, frozenset([host])))
        return state

    def builds(self, begin):
        """Return those that have ended last; none fails on a host."""
        return [*self._builds]

    def room(self, question):
        """Return what Placement offers."""
        return self._world.cloud.offers(self._flavors[question])

    def share(self, project_id):
        """Return which part of its quota a project uses."""
        return self._world.share(int(project_id)) * self._aging

    def published(self, uuid):
        """Return what everybody reads."""
        return texts.NO_HOST_HAS_ROOM.code

    def load(self, uuids):
        """Read nothing."""

    def publish(self, reasons_of, project_of=None):
        """Tell nobody."""

    def update(self, waiting, shown):
        """Show nobody as BUILD."""

    def request(self, servers, stopped=None):
        """Accept rebuilds; the scheduler takes them one by one."""
        for record in servers:
            server = self._known[record.uuid]
            alike = self._queues[server.kind]
            self._world.inversions += any(
                map(self._is_ready, alike[:alike.index(server)]))
            self._at_scheduler(record.uuid, self._try, server)
        return [values.Answer(values.Outcome.ACCEPTED) for _ in servers]

    def _at_scheduler(self, uuid, act, *arguments):
        """Have something happen when the scheduler has a server."""
        self._sent.add(uuid)
        self._world.at(self._now().seconds + next(self._after) * _CLAIM,
                       act, *arguments)

    def answered(self):
        """Return none: all are answered at once."""
        return {}

    def _try(self, server):
        world, record = self._world, server.record
        host = world.retry(server.request)
        if host is None:
            self._bury(server)
            return
        self._queues[server.kind].remove(server)
        self._ended[record.uuid] = (
            world.now + BUILD, values.State.LANDED, host)

    def _bury(self, server):
        record = server.record
        self._ended[record.uuid] = (
            self._world.now, values.State.BURIED, None)
        server.record = dataclasses.replace(
            record, failures=record.failures + 1, tried_at=self._now().utc)
