# SPDX-License-Identifier: Apache-2.0

"""What a sweep is given: who reads and asks, who acts, and who tells."""

from __future__ import annotations

import collections.abc
import datetime
import typing as ty

from cell0_rebuild.wait import values


class Eyes(ty.Protocol):
    """Reads and asks; see :class:`eyes.Eyes`."""

    def census(self) -> values.Census:
        """Find all servers that wait."""

    def kinds(
        self, uuids: collections.abc.Sequence[str],
        waiting: collections.abc.Container[str],
    ) -> dict[str, values.Kind | values.Reason]:
        """Return the kinds of servers, or why that cannot be told."""

    def groups(
        self, uuids: collections.abc.Set[str]
    ) -> dict[str, values.Members]:
        """Tell where the members of server groups are."""

    def state(self, uuid: str) -> values.State:
        """Tell where a server is whose rebuild was accepted."""

    def builds(self, begin: datetime.datetime) -> list[values.Build]:
        """Return the builds since then; see :func:`builds.since`."""

    def room(self, question: values.Question) -> values.Room:
        """Ask Placement for room."""

    def share(self, project_id: str) -> float:
        """Return the part of its quota that a project uses."""

    def short(self, question: values.Question) -> values.Reason:
        """Return what is short where there is no room."""

    def check_placement(self) -> None:
        """Check that Placement answers.

        :raises NoPlacement: if it does not.
        """


class Hands(ty.Protocol):
    """Requests rebuilds; see :class:`hands.Hands`."""

    def request(
        self, servers: collections.abc.Sequence[values.Waiting]
    ) -> list[values.Answer]:
        """Request rebuilds, at the same time; return the answers in order."""

    def answered(self) -> dict[str, values.Answer]:
        """Return what was answered to earlier requests, by the UUIDs."""

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Check that nova-api and Keystone answer others.

        :raises NoApi: if they do not.
        """


class Teller(ty.Protocol):
    """Tells owners why their servers wait; see :class:`notices.Notices`."""

    def load(self, uuids: collections.abc.Collection[str]) -> None:
        """Read what was published of these servers."""

    def published(self, uuid: str) -> str | None:
        """Return the code of the reason that was published of a server."""

    def publish(
        self, reasons_of: collections.abc.Mapping[str, values.Reason]
    ) -> int:
        """Publish why servers wait."""


class Shower(ty.Protocol):
    """Shows servers as BUILD; see :class:`shown_status.ShownStatus`."""

    def update(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        """Show these servers as BUILD, and no others."""
