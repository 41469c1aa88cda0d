# SPDX-License-Identifier: Apache-2.0

"""What a sweep can be told to do next."""

from __future__ import annotations

import dataclasses
import typing as ty

from cell0_rebuild.wait import values


@dataclasses.dataclass(frozen=True)
class AskRooms:
    """Ask Placement for room.

    :param projects: those that each question is asked for, the first first.
    """

    projects: dict[values.Question, set[str]]


@dataclasses.dataclass(frozen=True)
class AskGroups:
    """Ask the cells where the members of server groups are."""

    uuids: set[str]


@dataclasses.dataclass(frozen=True)
class AskBuilds:
    """Ask the cells how builds have ended."""


@dataclasses.dataclass(frozen=True)
class AskShares:
    """Ask Placement what projects use."""

    project_ids: list[str]


@dataclasses.dataclass(frozen=True)
class AskShort:
    """Ask Placement what is short."""

    questions: list[values.Question]


@dataclasses.dataclass(frozen=True)
class Send:
    """Request rebuilds, at the same time."""

    requests: list[values.Request]


Command = ty.Union[
    AskRooms, AskGroups, AskBuilds, AskShares, AskShort, Send]
