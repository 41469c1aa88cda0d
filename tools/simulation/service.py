# SPDX-License-Identifier: Apache-2.0

"""The service's own sweep, on a cloud that is not there."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import itertools
import types
import typing as ty
import uuid

from oslo_config import cfg

from cell0_rebuild.wait import candidates
from cell0_rebuild.wait import options
from cell0_rebuild.wait import order
from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import sweep
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tools.simulation import workload
from tools.simulation import world as worlds

# Any day will do.
_BEGIN = datetime.datetime(2026, 1, 1)
_NEVER = datetime.datetime.max
# Seconds that Placement takes for a probe of a full cloud; measured.
_PROBE = 0.03
# Assumed: seconds from a request to the claim, and from there to ACTIVE.
_CLAIM, _BUILD = 0.5, 20.0

_State = values.State


@dataclasses.dataclass(eq=False)
class _Server:
    request: workload.Request
    kind: values.Kind
    record: values.Waiting


def _question(flavor: workload.Flavor) -> values.Question:
    return values.Question(
        f'resources=VCPU:{flavor.cores},MEMORY_MB:{int(flavor.ram * 1024)}')


def defaults() -> types.SimpleNamespace:
    """Return what the service's options are if nobody sets them."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    return types.SimpleNamespace(**{
        opt.dest: conf[options.GROUP.name][opt.dest] for opt in options.OPTS})


class Service:
    """The eyes and the hands of a sweeper, and those whom it tells."""

    def __init__(
        self, policy: str, aging: datetime.timedelta = order.A_WHOLE_QUOTA
    ) -> None:
        """:param policy: ``fair`` or ``fifo``."""
        self._section = defaults()
        self._section.order = policy
        # A larger share is as good as a longer time.
        self._aging = aging / order.A_WHOLE_QUOTA
        # The servers of each kind, which all are of one project.
        self._queues: dict[values.Kind, list[_Server]] = {}
        self._known: dict[str, _Server] = {}
        self._ended: dict[str, tuple[float, values.State]] = {}
        self._sent: set[str] = set()
        self._builds = collections.deque[values.Build](maxlen=10)
        self._shapes = {flavor: values.Shape(_question(flavor))
                        for flavor in workload.FLAVORS}
        self._flavors = {shape.question: flavor
                         for flavor, shape in self._shapes.items()}

    def begin(self, world: worlds.World) -> None:
        """Begin with nobody."""
        self._world = world
        self._sweeper = sweep.Sweeper(
            lambda: ty.cast(ty.Any, self._section), self, self, self, self,
            self._now)
        world.at(0.0, self._turn)

    def _now(self) -> values.Now:
        return values.Now(
            _BEGIN + datetime.timedelta(seconds=self._world.now),
            self._world.now)

    def wait(self, request: workload.Request) -> None:
        """Have a server wait that asked for it."""
        record = values.Waiting(
            str(uuid.UUID(int=request.number)), str(request.project),
            _BEGIN + datetime.timedelta(seconds=request.at), _NEVER, True)
        # Those of other projects have others.
        kind = values.Kind(self._shapes[request.flavor], record.project_id)
        server = self._known[record.uuid] = _Server(request, kind, record)
        self._queues.setdefault(kind, []).append(server)

    def _turn(self) -> None:
        self._after = itertools.count(1)
        shapes = {kind.shape for kind, servers in self._queues.items()
                  if servers}
        # Else nothing would be done.
        if self._sent or any(map(self._has_room, shapes)):
            self._sweeper.sweep()
        self._world.at(self._world.now + pacing.interval(
            len(shapes) * _PROBE, self._section.probe_budget, False),
            self._turn)

    def _has_room(self, shape: values.Shape) -> bool:
        return bool(self.room(shape.question))

    def census(self) -> values.Census:
        """Return those who can be sent: of a kind no more than at once.

        To order the others, too, would be most of the work.
        """
        now = self._now().utc
        return values.Census([
            server.record for kind, servers in self._queues.items()
            if self._has_room(kind.shape) for server in itertools.islice(
                (one for one in servers if self._is_ready(one, now)),
                self._section.at_once)])

    def _is_ready(self, server: _Server, now: datetime.datetime) -> bool:
        return (server.record.uuid not in self._sent
                and candidates.why_held(
                    server.record, ty.cast(ty.Any, self._section), now
                ) is None)

    def kinds(
        self, uuids: collections.abc.Sequence[str],
        waiting: collections.abc.Container[str],
    ) -> dict[str, values.Kind | values.Reason]:
        """Return what each asks for."""
        return {one: self._known[one].kind for one in uuids}

    def groups(
        self, uuids: collections.abc.Set[str]
    ) -> dict[str, values.Members]:
        """Return none: there are no groups."""
        return {}

    def state(self, uuid: str) -> values.State:
        """Tell where a server is."""
        at, state = self._ended.get(uuid, (0.0, _State.SENT))
        if state is _State.SENT or at > self._world.now:
            return _State.SPAWNING if uuid in self._ended else _State.SENT
        self._sent.discard(uuid)
        del self._ended[uuid]
        if state is _State.LANDED:
            self._builds.append(values.Build(
                uuid, self._known[uuid].record.project_id, state,
                self._now().utc))
        return state

    def builds(self, begin: datetime.datetime) -> list[values.Build]:
        """Return those that have ended last; none fails on a host."""
        return [*self._builds]

    def room(self, question: values.Question) -> values.Room:
        """Return what Placement offers."""
        return self._world.cloud.offers(self._flavors[question])

    def share(self, project_id: str) -> float:
        """Return which part of its quota a project uses."""
        return self._world.share(int(project_id)) * self._aging

    def short(self, question: values.Question) -> values.Reason:
        """Return what everybody reads already."""
        return texts.NO_HOST_HAS_ROOM

    def load(self, uuids: collections.abc.Collection[str]) -> None:
        """Read nothing."""

    def published(self, uuid: str) -> str | None:
        """Return what everybody reads."""
        return texts.NO_HOST_HAS_ROOM.code.value

    def publish(
        self, reasons_of: collections.abc.Mapping[str, values.Reason]
    ) -> int:
        """Tell nobody."""
        return 0

    def update(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        """Show nothing."""

    def request(
        self, servers: collections.abc.Sequence[values.Waiting]
    ) -> list[values.Answer]:
        """Accept rebuilds; the scheduler takes them one by one."""
        for record in servers:
            server = self._known[record.uuid]
            alike = self._queues[server.kind]
            self._world.counts.inversions += any(
                self._is_ready(one, self._now().utc)
                for one in alike[:alike.index(server)])
            self._sent.add(record.uuid)
            after = next(self._after) * _CLAIM
            self._world.at(self._world.now + after, self._try, server)
        return [values.Answer(values.Outcome.ACCEPTED) for _ in servers]

    def answered(self) -> dict[str, values.Answer]:
        """Return none: all are answered at once."""
        return {}

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Find that all is well."""

    def check_placement(self) -> None:
        """Find that all is well."""

    def _try(self, server: _Server) -> None:
        world, record = self._world, server.record
        if world.retry(server.request):
            self._queues[server.kind].remove(server)
            self._ended[record.uuid] = world.now + _BUILD, _State.LANDED
            return
        self._ended[record.uuid] = world.now, _State.BURIED
        server.record = dataclasses.replace(
            record, failures=record.failures + 1, tried_at=self._now().utc)
