# SPDX-License-Identifier: Apache-2.0

"""Requests rebuilds of several servers at the same time.

nova-api serves as many at once as there are owners who ask.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import dataclasses
import typing as ty

from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import shape_cache
from cell0_rebuild.wait import waiting_server as records

# So many are requested at the same time, at most.
MOST = 8


class RebuildRequester(ty.Protocol):
    """Requests rebuilds; see :class:`rebuilds.RebuildClient`."""

    def request(
        self, server_id: str, project_id: str, image_id: str | None
    ) -> rebuilds.Answer:
        """Request the rebuild of a server."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A rebuild that is to be requested.

    :param image_id: the image that the server has.
    """

    server: records.Waiting
    shape: shape_cache.Shape
    image_id: str | None


def answers(
    requester: RebuildRequester,
    requests: collections.abc.Sequence[Request],
) -> list[rebuilds.Answer]:
    """Request rebuilds and return the answers, in the same order."""
    def answer(request: Request) -> rebuilds.Answer:
        return requester.request(
            request.server.uuid, request.server.project_id, request.image_id)

    if len(requests) == 1:
        return [answer(requests[0])]
    with concurrent.futures.ThreadPoolExecutor(MOST) as executor:
        return list(executor.map(answer, requests))
