# SPDX-License-Identifier: Apache-2.0

"""Makes a sweeper that acts, or one for a dry run."""

from __future__ import annotations

import collections.abc

from nova import context as nova_context
from oslo_config import cfg

from cell0_rebuild import cells
from cell0_rebuild.wait.census import eyes
from cell0_rebuild.wait.effects import hands
from cell0_rebuild.wait.effects import notices
from cell0_rebuild.wait.effects import rebuilds
from cell0_rebuild.wait.effects import shown_status
from cell0_rebuild.wait.memory import times
from cell0_rebuild.wait import options
from cell0_rebuild.wait import sweep
from cell0_rebuild.wait import values


class _AcceptsAll(rebuilds.RebuildClient):
    """Requests nothing: every rebuild counts as accepted."""

    def request(
        self, server_id: str, project_id: str, image_id: str | None
    ) -> values.Answer:
        return values.Answer(values.Outcome.ACCEPTED)


class _PublishesNothing(notices.Notices):
    """Reads what was published, and writes nothing."""

    def publish(
        self, reasons_of: collections.abc.Mapping[str, values.Reason],
        project_of: collections.abc.Callable[[str], str] = lambda uuid: '',
    ) -> int:
        return 0


class _UpdatesNothing(shown_status.ShownStatus):
    """Writes no status."""

    def update(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        pass


def check() -> None:
    """Check the options of this process, which a signal may have changed.

    :raises WrongOptions: if a value cannot be.
    """
    if problems := options.problems(cfg.CONF):
        raise rebuilds.WrongOptions('; '.join(problems))


def sweeper(
    dry_run: bool = False, once: bool = False,
    clock: collections.abc.Callable[[], values.Now] = times.now,
) -> sweep.Sweeper:
    """Return a sweeper with the options of this process.

    :param dry_run: whether the sweeper requests and writes nothing.
    :param once: whether it sweeps only once.
    :raises WrongOptions: if a value cannot be, or it cannot get tokens.
    """
    check()
    context = nova_context.get_admin_context()
    in_cell0 = cells.in_cell0(context)
    seen = eyes.Eyes(context, cfg.CONF, lambda: clock().seconds)
    client, teller, shower = (
        (_AcceptsAll(cfg.CONF), _PublishesNothing(in_cell0),
         _UpdatesNothing(in_cell0)) if dry_run else
        (rebuilds.RebuildClient(cfg.CONF),
         notices.Notices(in_cell0, at_once=once),
         shown_status.ShownStatus(in_cell0)))
    # No later sweep would learn of an answer.
    patience = None if once or dry_run else hands.PATIENCE
    return sweep.Sweeper(
        lambda: cfg.CONF[options.GROUP.name], seen,
        hands.Hands(context, cfg.CONF, client, patience),
        teller, shower, clock)
