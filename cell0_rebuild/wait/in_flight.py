# SPDX-License-Identifier: Apache-2.0

"""The rebuilds in progress, and whether another one may be requested."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import typing as ty

from oslo_log import log as logging

from cell0_rebuild.wait import admission
from cell0_rebuild.wait import builds
from cell0_rebuild.wait import down_cells
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import probes
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import rebuild_state
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import waiting_server as records

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

LOG = logging.getLogger(__name__)

# A rebuild that takes longer needs an operator: its conductor may have died.
_LOST = datetime.timedelta(hours=1)

# How far back builds are read.
_HISTORY = datetime.timedelta(hours=2)

_State = rebuild_state.State
_BUILT = (_State.LANDED, _State.FAILED_ON_HOST)


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a rebuild ended.

    :param waited: the time since the server was created, if it has landed.
    """

    state: rebuild_state.State
    waited: datetime.timedelta | None = None


class InFlight:
    """Knows the rebuilds in progress.

    It remembers those that this process requested. Those of other services,
    or of an earlier process, are read from the cells.

    :ivar cells: the cells whose databases do not answer.
    """

    def __init__(self, context: nova_context.RequestContext) -> None:
        """Begin without rebuilds.

        :param context: an administrator's.
        """
        self._context = context
        self.cells = down_cells.DownCells()
        self._admission = admission.Admission()
        self._noted: dict[str, datetime.datetime] = {}
        self._others: list[datetime.datetime] = []
        self._learned_at: datetime.datetime | None = None

    def has(self, uuid: str) -> bool:
        """Tell whether this process has requested a rebuild in progress."""
        return uuid in self._admission.on_their_way

    def settle(
        self, section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime
    ) -> collections.abc.Iterator[tuple[str, Ended]]:
        """Yield the rebuilds that have ended, with the UUIDs of the servers.

        Each is yielded before the next server is looked up, because that may
        fail.

        :param section: the options.
        """
        self._hear_operator(section.hosts_mended_at)
        for uuid, sent in list(self._admission.on_their_way.items()):
            state = self._state(uuid)
            if state is not _State.ON_ITS_WAY:
                self._admission.record_end(uuid, state, section, now)
                self._note_build(uuid, sent.server.project_id, state, now)
                yield uuid, Ended(
                    state, now - sent.server.created_at
                    if state is _State.LANDED else None)
            elif sent.at + _LOST <= now:
                LOG.warning(
                    'The server has been on its way for too long and is no '
                    'longer looked at.', instance_uuid=uuid)
                self._admission.remove(uuid)

    def _hear_operator(self, mended: datetime.datetime | None) -> None:
        stopped = self._admission.stopped
        self._admission.hosts_mended(mended)
        if stopped and not self._admission.stopped:
            LOG.info('An operator says that hosts are good: servers are sent '
                     'again.')

    def _state(self, uuid: str) -> rebuild_state.State:
        """Tell where a server is: on its way, if a database is away."""
        try:
            return rebuild_state.of(self._context, uuid, self.cells)
        except outages.DATABASES:
            return _State.ON_ITS_WAY

    def ordered(
        self, servers: list[records.Waiting],
        shapes: collections.abc.Mapping[str, shape_cache.Shape],
        now: datetime.datetime,
    ) -> list[records.Waiting]:
        """Return the servers in the order in which they are tried.

        :param servers: in their order.
        :param shapes: the shape of each server, by its UUID.
        """
        self._learn(now)
        return self._admission.ordered(servers, shapes)

    def stopped(self, now: datetime.datetime) -> bool:
        """Tell whether builds fail on hosts. Then at most one is sent."""
        self._learn(now)
        return self._admission.stopped

    def rest(
        self, shape: shape_cache.Shape, now: datetime.datetime
    ) -> reasons.Reason | None:
        """Return why a shape rests; None if it does not."""
        return self._admission.rest(shape, now)

    def refusal(
        self, shape: shape_cache.Shape, room: probes.Room,
        section: cfg.ConfigOpts.GroupAttr, now: datetime.datetime,
    ) -> reasons.Reason | None:
        """Return why no other server of a shape may be sent now.

        If one may be sent, the result is None, and it is counted as sent in
        this minute.

        :param room: what Placement has for the shape.
        :param section: the options.
        """
        if self._admission.rest(shape, now) is None:
            self._learn(now)
        return self._admission.refusal(
            shape, room, section, now, self._others)

    def record_sent(
        self, server: records.Waiting, shape: shape_cache.Shape,
        now: datetime.datetime,
    ) -> None:
        """Note that the rebuild of a server is requested."""
        self._admission.record_sent(server, shape, now)

    def withdraw(
        self, servers: collections.abc.Iterable[records.Waiting]
    ) -> None:
        """Forget servers whose rebuilds were not accepted."""
        for server in servers:
            self._admission.remove(server.uuid)

    def has_landed(
        self, shape: shape_cache.Shape, section: cfg.ConfigOpts.GroupAttr
    ) -> bool:
        """Tell whether a server of a shape landed since one was refused.

        :param section: the options.
        """
        return self._admission.has_landed(shape, section)

    def forget_others(
        self, shapes: collections.abc.Iterable[shape_cache.Shape]
    ) -> None:
        """Forget how many servers of all other shapes may be sent."""
        self._admission.forget_others(shapes)

    def _learn(self, now: datetime.datetime) -> None:
        """Note the builds that others requested, once a sweep."""
        if self._learned_at == now:
            return
        self._learned_at = now
        foreign = [build for build in builds.since(
                       self._context, now - _HISTORY, self.cells)
                   if not self.has(build.uuid)]
        self._others = [
            build.at for build in foreign
            if build.state is _State.ON_ITS_WAY and build.at + _LOST > now]
        for build in foreign:
            self._note_build(
                build.uuid, build.project_id, build.state, build.at)
        self._noted = {uuid: at for uuid, at in self._noted.items()
                       if at >= now - _HISTORY}

    def _note_build(
        self, uuid: str, project_id: str, state: rebuild_state.State,
        at: datetime.datetime,
    ) -> None:
        if uuid in self._noted or state not in _BUILT:
            return
        stopped = self._admission.stopped
        self._admission.record_build(state, at, project_id)
        self._noted[uuid] = at
        if self._admission.stopped and not stopped:
            LOG.warning('Builds fail on hosts: one server is tried every half '
                        'hour until one lands.', instance_uuid=uuid)
        elif stopped and not self._admission.stopped:
            LOG.info('A build has succeeded: servers are sent again.',
                     instance_uuid=uuid)
