# SPDX-License-Identifier: Apache-2.0

"""Requests rebuilds of servers, after a last look at each.

What needs such a look is not read of all servers that wait: the image of a
server, and what an operator has decided since the sweep began.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import typing as ty

from cell0_rebuild.wait import eligibility
from cell0_rebuild.wait import images
from cell0_rebuild.wait import options
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from oslo_config import cfg

_Servers = collections.abc.Sequence[values.Waiting]


class Client(ty.Protocol):
    """Requests rebuilds; see :class:`rebuilds.RebuildClient`."""

    def request(
        self, server_id: str, project_id: str, image_id: str | None
    ) -> values.Answer:
        """Request the rebuild of a server."""

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Check that nova-api and Keystone answer others."""


class Hands:
    """Acts in the name of owners."""

    def __init__(
        self, context: nova_context.RequestContext, conf: cfg.ConfigOpts,
        client: Client,
    ) -> None:
        """:param context: an administrator's, to look at servers."""
        self._context, self._conf = context, conf
        self._client = client

    def request(self, servers: _Servers) -> list[values.Answer]:
        """Request rebuilds, at the same time; return the answers in order.

        nova-api serves as many at once as there are owners who ask.
        """
        # All looks come before the first request: a look may fail.
        found = [self._look(server) for server in servers]

        def ask(
            server: values.Waiting, looked: values.Answer | str | None
        ) -> values.Answer:
            if isinstance(looked, values.Answer):
                return looked
            return self._client.request(
                server.uuid, server.project_id, looked)
        if len(servers) == 1:
            return [ask(servers[0], found[0])]
        with concurrent.futures.ThreadPoolExecutor(len(servers)) as executor:
            return list(executor.map(ask, servers, found))

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Check that nova-api and Keystone answer others.

        :param failed: of a request that got no answer.
        :param accepted: the server whose rebuild was accepted last.
        :raises NoApi: if they do not.
        """
        self._client.check(failed, accepted)

    def _look(self, server: values.Waiting) -> values.Answer | str | None:
        """Return the image of a server, or why nothing is asked for."""
        renewed = eligibility.renewed(self._context, server)
        reason = None
        if renewed is not None:
            if renewed.held:
                reason = texts.HELD
            elif self._conf[options.GROUP.name].pause:
                reason = texts.PAUSED
            else:
                try:
                    return images.to_name(self._context, server.uuid)
                except images.Unknown as error:
                    reason = values.Reason(values.Code.BLOCKED, str(error))
        # If its waiting has ended, nobody reads why.
        return values.Answer(values.Outcome.NOT_ASKED, reason=reason)
