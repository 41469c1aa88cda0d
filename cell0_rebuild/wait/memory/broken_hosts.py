# SPDX-License-Identifier: Apache-2.0

"""Send no servers to hosts on which builds fail.

A broken host looks empty, so that all that waits is sent there. A server whose
build fails on a host has left cell0, and nobody can rebuild it any more. The
host need not be the reason: the image of a project may be too large for its
flavors.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import itertools
import operator

from cell0_rebuild.wait import values

# So many builds that fail are more than bad luck.
_TOO_MANY = 2
# So many projects that fail are not explained by any one of them.
_MANY_PROJECTS = 3
_PAUSE = datetime.timedelta(minutes=30)
_BAD_LUCK = datetime.timedelta(hours=1)
# So many on their way are as good as no bound.
_WIDEST = 1024

# A rebuild that takes longer needs an operator: its conductor may have died.
LOST = datetime.timedelta(hours=1)
# How far back builds are read.
HISTORY = datetime.timedelta(hours=2)
# So many that land let any number be sent.
_LAST = 10

# The order of builds.
_WHEN = operator.attrgetter('at', 'uuid')

_Failed = list[values.Build]


class BrokenHosts:
    """How many servers may be on their way, by how builds have ended.

    Over all shapes at most two, until one lands; each that lands doubles that.
    After a while in which none has landed it is two again, because a host may
    have broken meanwhile.

    A build that fails is charged to its project: two of them stop the project
    until one of its servers lands. Only what no project explains stops all:
    two projects that failed on one host on which nobody has landed since, or
    three without anybody landing between. Half an hour later one server is
    tried. All times are UTC without a time zone.
    """

    def __init__(
        self, builds: collections.abc.Iterable[values.Build] = ()
    ) -> None:
        """:param builds: that have landed or failed, in any order; also those
            of others who landed on a host where one failed.
        """
        self._width = _TOO_MANY
        self._last_at: datetime.datetime | None = None
        self._failed_at: datetime.datetime | None = None
        # Those since the last that landed, anywhere, of a project, on a host.
        self._since: _Failed = []
        self._of: dict[str, _Failed] = collections.defaultdict(list)
        self._on: dict[str, _Failed] = collections.defaultdict(list)
        for build in sorted(builds, key=_WHEN):
            if build.state is values.State.LANDED:
                self._landed(build)
            else:
                self._failed(build)
            self._last_at = build.at

    @property
    def stopped(self) -> bool:
        """Whether builds fail: no server is sent, or one to try."""
        return len(_projects(self._since)) >= _MANY_PROJECTS or any(
            len(_projects(failed)) >= _TOO_MANY
            for failed in self._on.values())

    @property
    def failing(self) -> bool:
        """Whether the last build has failed."""
        return bool(self._since)

    def allowed(self, now: datetime.datetime) -> int:
        """Return how many may be on their way, with those that are."""
        if self.stopped:
            return int(_is_past(self._failed_at, now))
        if self._since:
            return 1
        return _TOO_MANY if _is_past(self._last_at, now) else self._width

    @property
    def stopped_projects(self) -> set[str]:
        """The projects of which no server is sent, or one to try."""
        return {project_id for project_id, failed in self._of.items()
                if len(failed) >= _TOO_MANY}

    def failures(self, project_id: str, now: datetime.datetime) -> int:
        """Return how many of a project have failed since one has landed.

        One alone may be bad luck, and counts only for a while.
        """
        failed = self._of.get(project_id, [])
        if len(failed) == 1 and now - failed[0].at >= _BAD_LUCK:
            return 0
        return len(failed)

    def allowed_of(
        self, project_id: str, now: datetime.datetime
    ) -> int | None:
        """Return how many of a project may be on their way; None is all."""
        failed = self._of.get(project_id, [])
        if len(failed) >= _TOO_MANY:
            return int(_is_past(failed[-1].at, now))
        return 1 if failed else None

    def _landed(self, build: values.Build) -> None:
        if build.waited:
            self._width = min(2 * max(self.allowed(build.at), 1), _WIDEST)
        self._since = []
        self._of.pop(build.project_id, None)
        for host, failed in [*self._on.items()]:
            # What was tried after the pause has landed on another one.
            if host in build.hosts or _is_past(failed[-1].at, build.at):
                del self._on[host]

    def _failed(self, build: values.Build) -> None:
        self._width, self._failed_at = _TOO_MANY, build.at
        self._since.append(build)
        self._of[build.project_id].append(build)
        for host in build.hosts:
            self._on[host].append(build)


class Builds:
    """What is known of the builds of a while, whoever requested them.

    :ivar hosts: how they have ended.
    :ivar others: those in progress that this service did not request.
    """

    def __init__(self) -> None:
        self.hosts = BrokenHosts()
        self.others: list[values.Build] = []
        self._ended: dict[str, values.Build] = {}

    def learn(
        self, builds: collections.abc.Iterable[values.Build],
        now: datetime.datetime,
    ) -> None:
        """Note what was read.

        Those that are not read again, because the server was deleted or its
        cell is away, are known as long.

        :param builds: without those that this service knows to be on their
            way.
        """
        read = {build.uuid: self._dated(build, now) for build in builds}
        self.others = [
            build for build in read.values()
            if build.state in values.BUILDING and build.at + LOST > now]
        self._ended.update(
            (uuid, build) for uuid, build in read.items()
            if build.state in (
                values.State.LANDED, values.State.FAILED_ON_HOST))
        ended = sorted(self._ended.values(), key=_WHEN)
        first = max(now - HISTORY, next(
            (build.at for build in ended
             if build.state is values.State.FAILED_ON_HOST), now))
        # The last that landed before tell how many may be sent.
        last = itertools.islice((
            build for build in reversed(ended)
            if build.state is values.State.LANDED), _LAST)
        self._ended = {build.uuid: build for build in (
            *last, *(build for build in ended if build.at >= first))}
        self.hosts = BrokenHosts(self._ended.values())

    def _dated(
        self, build: values.Build, now: datetime.datetime
    ) -> values.Build:
        """Return a build, not of the future: its host may have another clock.
        """
        if build.at <= now:
            return build
        known = self._ended.get(build.uuid)
        return dataclasses.replace(
            build, at=now if known is None else known.at)


def _projects(failed: _Failed) -> set[str]:
    return {build.project_id for build in failed}


def _is_past(
    moment: datetime.datetime | None, now: datetime.datetime
) -> bool:
    return moment is None or now - moment >= _PAUSE
