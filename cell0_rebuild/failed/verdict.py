# SPDX-License-Identifier: Apache-2.0

"""Whether a server that failed in a real cell is at rest, by what is stored.

doc/source/contributor/never-launched.rst tells what each condition rests on.
"""

from __future__ import annotations

import dataclasses
import datetime

from nova.compute import vm_states

# What Nova's driver of libvirt says of its hosts. Only that one can tell that
# it has no guest.
_LIBVIRT = 'QEMU'

# Actions that begin nothing, or a build that has an event.
_KNOWN = frozenset(('create', 'rebuild', 'bury', 'wait', 'lock', 'unlock'))

_AGAIN = 'Delete it, and create it again'


@dataclasses.dataclass(frozen=True)
class Build:
    """A build, as its event tells.

    :param ended: the event has a result.
    """

    host: str | None
    started: datetime.datetime
    ended: bool


@dataclasses.dataclass(frozen=True)
class Action:
    """A request, and the builds that it began, oldest first."""

    name: str
    builds: tuple[Build, ...] = ()


@dataclasses.dataclass(frozen=True)
class Failed:
    """What is known of a server that is mapped to a real cell.

    :param has_entry: a rebuild or a burial of it has not ended.
    :param launched: it ever ran.
    :param actions: oldest first.
    :param failed_at: when its last fault was recorded, if it has one.
    :param has_volumes: also a mapping of one that is gone.
    :param is_only_try: no other host was to be tried: a compute has aborted
        the build, or was told so. Otherwise a nova-conductor records the last
        fault, and may work on the server after that.
    :param is_retained: what a rebuild needs is kept of its create.
    :param hypervisor: the type that the host of its last build reports.
    """

    has_entry: bool
    launched: bool
    vm_state: str | None
    task_state: str | None
    host: str | None
    actions: tuple[Action, ...]
    failed_at: datetime.datetime | None
    has_volumes: bool
    is_only_try: bool
    is_retained: bool
    hypervisor: str | None

    @property
    def last_builds(self) -> tuple[Build, ...]:
        """The builds of the last request that began any."""
        return next((action.builds for action in reversed(self.actions)
                     if action.builds), ())


def why_not(server: Failed) -> str | None:
    """Return why a server cannot be buried, and what to do.

    :returns: None if its compute can be asked whether its build is over.
    """
    return (_not_failed(server) or _not_over(server)
            or _not_to_be_built(server))


def _not_failed(server: Failed) -> str | None:
    if server.has_entry:
        return ('A rebuild or a burial of it has not ended. If that lasts, '
                'run "cell0-rebuild-manage recover"')
    if server.launched:
        return 'It has run. Nova itself can rebuild it'
    if server.task_state is not None:
        return f'It is {server.task_state}. Try again when that has ended'
    if server.vm_state != vm_states.ERROR:
        return f'It is {server.vm_state}, and not in error'
    if server.host is not None:
        return (f'It is on host {server.host}: its build was interrupted, or '
                f'goes on. {_AGAIN}')
    return None


def _not_over(server: Failed) -> str | None:
    others = sorted({action.name for action in server.actions} - _KNOWN)
    if others:
        return (f'It has an action {others[0]}. Nobody can tell whether a '
                f'build of it is still to come. {_AGAIN}')
    if not server.last_builds:
        return f'No compute has begun to build it. {_AGAIN}'
    if len(server.last_builds) > 1:
        return ('It was tried on several hosts, and a nova-conductor may '
                f'still clear up after it. {_AGAIN}')
    [build] = server.last_builds
    if not build.ended or build.host is None:
        return 'Its build has not ended. Try again later'
    if server.failed_at is None or server.failed_at < build.started:
        return f'It did not fail in its last build. {_AGAIN}'
    return None


def _not_to_be_built(server: Failed) -> str | None:
    if server.has_volumes:
        return ('It has volumes, and some may be gone with the build. '
                f'{_AGAIN}')
    if not server.is_retained:
        return ('What its owner asked for is not kept. It is kept of a server '
                'without volumes, accelerators and personality files, that '
                'was created alone, if nova-conductor has [cell0_rebuild] '
                f'rebuild = never_launched. {_AGAIN}')
    if not server.is_only_try:
        return ('Its compute was allowed to try another host, and a '
                f'nova-conductor may still clear up after it. {_AGAIN}')
    if server.hypervisor != _LIBVIRT:
        return ('Its host does not run libvirt, and cannot tell whether it '
                f'has left a guest there. {_AGAIN}')
    return None
