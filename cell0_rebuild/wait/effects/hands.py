# SPDX-License-Identifier: Apache-2.0

"""Requests rebuilds of servers, after a last look at each.

What needs such a look is not read of all servers that wait: the image of a
server, and what an operator has decided since the sweep began.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import contextvars
import time
import typing as ty

from cell0_rebuild.wait.census import images
from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait import options
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

    from cell0_rebuild.wait.effects import rebuilds

# Seconds to wait for answers to requests.
PATIENCE = 2.0

# More requests than that are not open at the same time; see :mod:`batch`.
_THREADS = 64

_Servers = collections.abc.Sequence[values.Waiting]


class Hands:
    """Acts in the name of owners."""

    def __init__(
        self, context: nova_context.RequestContext, conf: cfg.ConfigOpts,
        client: rebuilds.RebuildClient, patience: float | None = PATIENCE,
    ) -> None:
        """Request nothing yet.

        :param context: an administrator's, to look at servers.
        :param patience: seconds to wait for answers; None is without end.
        """
        self._context, self._conf = context, conf
        self._client, self._patience = client, patience
        self._executor = concurrent.futures.ThreadPoolExecutor(_THREADS)
        # The projects whose last request took longer than that.
        self._slow: set[str] = set()
        self._open: dict[str, concurrent.futures.Future[values.Answer]] = {}

    def request(
        self, servers: _Servers,
        stopped: collections.abc.Callable[[], bool] = lambda: False,
    ) -> list[values.Answer]:
        """Request rebuilds, at the same time; return the answers in order.

        nova-api serves as many at once as there are owners who ask. Where it
        takes long for one of them, the others do not wait, and the next time
        not at all.

        :param stopped: whether nothing more is to be requested.
        """
        # The database is read before the first request: it may be away.
        found = [self._look(server) for server in servers]
        asked = {
            server.uuid: self._executor.submit(
                contextvars.copy_context().run, self._ask, server, looked,
                stopped)
            for server, looked in zip(servers, found)
            if not isinstance(looked, values.Answer)}
        slow = {server.uuid for server in servers
                if server.project_id in self._slow}
        concurrent.futures.wait(
            [future for uuid, future in asked.items() if uuid not in slow],
            self._patience)
        done = {future for future in asked.values() if future.done()}
        self._open.update((uuid, future) for uuid, future in asked.items()
                          if future not in done)
        self._slow.update(server.project_id for server in servers
                          if server.uuid in self._open)
        return [
            looked if isinstance(looked, values.Answer)
            else asked[server.uuid].result() if asked[server.uuid] in done
            else values.Answer(values.Outcome.NOT_YET)
            for server, looked in zip(servers, found)]

    def _ask(
        self, server: values.Waiting, find_image: images.Finder,
        stopped: collections.abc.Callable[[], bool],
    ) -> values.Answer:
        """Request a rebuild; note whether that takes long."""
        begun = time.monotonic()
        image = find_image()
        if isinstance(image, values.Reason):
            return _not_asked(image)
        if stopped():
            return _not_asked(texts.ITS_TURN)
        try:
            return self._client.request(server.uuid, server.project_id, image)
        finally:
            if self._patience is not None and (
                    time.monotonic() - begun < self._patience):
                self._slow.discard(server.project_id)

    def answered(self) -> dict[str, values.Answer]:
        """Return the answers that have come since, by the UUIDs."""
        done = {uuid: future for uuid, future in self._open.items()
                if future.done()}
        self._open = {uuid: future for uuid, future in self._open.items()
                      if uuid not in done}
        return {uuid: future.result() for uuid, future in done.items()}

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Check that nova-api and Keystone answer others.

        :param failed: of a request that got no answer.
        :param accepted: the server whose rebuild was accepted last.
        :raises NoApi: if they do not.
        """
        self._client.check(failed, accepted)

    def _look(self, server: values.Waiting) -> values.Answer | images.Finder:
        """Return what finds the image, or why nothing is asked for."""
        decision = operator_decisions.current(self._context, server.uuid)
        if decision is None or decision.ended:
            # Nobody can tell, or nobody reads why.
            return _not_asked(None)
        if decision.held:
            return _not_asked(texts.HELD)
        if self._conf[options.GROUP.name].pause:
            return _not_asked(texts.PAUSED)
        found = images.finder(self._context, server.uuid)
        return _not_asked(found) if isinstance(found, values.Reason) else found


def _not_asked(reason: values.Reason | None) -> values.Answer:
    return values.Answer(values.Outcome.NOT_ASKED, reason=reason)
