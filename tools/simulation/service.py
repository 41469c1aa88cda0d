# SPDX-License-Identifier: Apache-2.0

"""The waiting service: its order, its pace and its rests, without a Nova."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import types
import uuid

from oslo_config import cfg

from cell0_rebuild.wait import admission
from cell0_rebuild.wait import hold_reasons
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import options
from cell0_rebuild.wait import order
from cell0_rebuild.wait import pacing
from cell0_rebuild.wait import waiting_server as records
from cell0_rebuild.wait import rebuild_state
from tools.simulation import workload
from tools.simulation import world as worlds

# Any day will do.
_BEGIN = datetime.datetime(2026, 1, 1)
_NEVER = datetime.datetime.max
# Seconds that Placement takes for a probe of a full cloud; measured.
_PROBE = 0.03
# Assumed: seconds from a request to the claim, and from there to ACTIVE.
_CLAIM, _BUILD = 0.5, 20.0

_State = rebuild_state.State


@dataclasses.dataclass
class _Server:
    request: workload.Request
    record: records.Waiting


def _room(flavor: workload.Flavor) -> shape_cache.Shape:
    return shape_cache.Shape(
        f'resources=VCPU:{flavor.cores},MEMORY_MB:{int(flavor.ram * 1024)}')


def _shape(server: _Server) -> shape_cache.Shape:
    """Return the shape of a server; those of other projects have others."""
    return dataclasses.replace(
        _room(server.request.flavor), likeness=server.record.project_id)


_Queue = dict[int, list[_Server]]


def defaults() -> types.SimpleNamespace:
    """Return what the service's options are if nobody sets them."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    return types.SimpleNamespace(**{
        opt.dest: conf[options.GROUP.name][opt.dest] for opt in options.OPTS})


class Service:
    """Sweeps as :class:`cell0_rebuild.wait.sweep.Sweeper` does."""

    def __init__(
        self, policy: str, aging: datetime.timedelta = order.A_WHOLE_QUOTA
    ) -> None:
        """:param policy: ``fair`` or ``fifo``."""
        self._section, self._aging = defaults(), aging
        self._section.order = policy
        # The servers of each shape and project, the oldest first.
        self._queues: dict[workload.Flavor, _Queue] = {
            flavor: {} for flavor in workload.FLAVORS}
        self._ended: dict[str, tuple[float, rebuild_state.State]] = {}

    def begin(self, world: worlds.World) -> None:
        """Begin with nobody."""
        self._world = world
        self._admission = admission.Admission(lambda: world.now)
        world.at(0.0, self._turn)

    def wait(self, request: workload.Request) -> None:
        """Have a server wait that asked for it."""
        record = records.Waiting(
            str(uuid.UUID(int=request.number)), str(request.project),
            _BEGIN + datetime.timedelta(seconds=request.at), _NEVER, True)
        self._queues[request.flavor].setdefault(request.project, []).append(
            _Server(request, record))

    def _turn(self) -> None:
        now = _BEGIN + datetime.timedelta(seconds=self._world.now)
        self._settle(now)
        shapes = {flavor for flavor, queue in self._queues.items() if any(
            self._is_ready(server, now)
            for servers in queue.values() for server in servers)}
        self._admission.forget_others([_room(flavor) for flavor in shapes])
        # Python orders a set by chance.
        self._send([server for flavor in sorted(shapes, key=str)
                    if self._world.cloud.offers(flavor)
                    for server in self._first(flavor, now)], now)
        self._world.at(self._world.now + pacing.interval(
            len(shapes), _PROBE, self._section.probe_budget, False),
            self._turn)

    def _settle(self, now: datetime.datetime) -> None:
        for number in list(self._admission.on_their_way):
            at, state = self._ended.get(number, (self._world.now + 1, None))
            if state is not None and at <= self._world.now:
                self._admission.record_end(number, state, self._section, now)
                self._admission.record_build(state, now)
                del self._ended[number]

    def _is_ready(self, server: _Server, now: datetime.datetime) -> bool:
        return (server.record.uuid not in self._admission.on_their_way
                and hold_reasons.reason(
                    server.record, self._section, now) is None)

    def _first(
        self, flavor: workload.Flavor, now: datetime.datetime
    ) -> list[_Server]:
        """Return those who can be sent: of a project no more than at once.

        The others need not be ordered, which is most of the work.
        """
        return [server for servers in self._queues[flavor].values()
                for server in itertools.islice(
                    (one for one in servers if self._is_ready(one, now)),
                    self._section.at_once)]

    def _send(self, fitting: list[_Server], now: datetime.datetime) -> None:
        if not fitting:
            return
        projects = {server.request.project for server in fitting}
        servers = {server.record.uuid: server for server in fitting}
        shapes = {server.record.uuid: _shape(server) for server in fitting}
        after, full = itertools.count(1), set()
        for record in self._admission.ordered(order.ordered(
                self._section.order,
                [server.record for server in fitting],
                {str(project): self._world.share(project)
                 for project in projects}, self._aging), shapes):
            server, shape = servers[record.uuid], shapes[record.uuid]
            # Who is told no in a sweep is told so again.
            if shape in full:
                continue
            room = self._world.cloud.offers(server.request.flavor)
            if self._admission.refusal(shape, room, self._section, now):
                full.add(shape)
            else:
                self._count(server, now)
                self._admission.record_sent(record, shape, now)
                self._world.at(
                    self._world.now + next(after) * _CLAIM, self._try, server)

    def _count(self, server: _Server, now: datetime.datetime) -> None:
        """Count whether an older one alike comes later."""
        alike = self._queues[server.request.flavor][server.request.project]
        self._world.counts.inversions += any(
            self._is_ready(one, now) for one in itertools.takewhile(
                lambda one: one is not server, alike))

    def _try(self, server: _Server) -> None:
        world, record = self._world, server.record
        alike = self._queues[server.request.flavor][server.request.project]
        if world.retry(server.request):
            alike.remove(server)
            self._ended[record.uuid] = world.now + _BUILD, _State.LANDED
            return
        self._ended[record.uuid] = world.now, _State.BURIED
        server.record = dataclasses.replace(
            record, failures=record.failures + 1,
            tried_at=_BEGIN + datetime.timedelta(seconds=world.now))
