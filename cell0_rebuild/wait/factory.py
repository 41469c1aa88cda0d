# SPDX-License-Identifier: Apache-2.0

"""Make a sweeper that acts, or one that only looks."""

from __future__ import annotations

import collections.abc

from nova import context as nova_context
from oslo_config import cfg

from cell0_rebuild import cells
from cell0_rebuild.wait import notices
from cell0_rebuild.wait import options
from cell0_rebuild.wait import reasons
from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import showing
from cell0_rebuild.wait import sweep


class _Pretends:
    """Takes every request for accepted."""

    def ask(
        self, server_id: str, project_id: str, image_id: str | None
    ) -> rebuilds.Answer:
        return rebuilds.Answer(rebuilds.Outcome.ACCEPTED)


class _TellsNobody(notices.Notices):
    """Knows what was told, and writes nothing."""

    def tell(
        self, found: collections.abc.Mapping[str, reasons.Reason]
    ) -> int:
        return 0


class _ShowsNothing:
    """Leaves all servers as they are shown."""

    def show(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        pass


def check() -> None:
    """Check the options of this process, which may be read again.

    :raises WrongOptions: if a value cannot be.
    """
    problems = [*options.problems(cfg.CONF), *showing.problems(cfg.CONF)]
    if problems:
        raise rebuilds.WrongOptions('; '.join(problems))


def sweeper(dry_run: bool = False) -> sweep.Sweeper:
    """Return a sweeper with the options of this process.

    :param dry_run: it asks for nothing and writes nothing.
    :raises WrongOptions: if a value cannot be, or it cannot get tokens.
    """
    check()
    context = nova_context.get_admin_context()
    in_cell0 = cells.in_cell0(context)
    if dry_run:
        return sweep.Sweeper(
            context, cfg.CONF, _Pretends(), _TellsNobody(in_cell0),
            _ShowsNothing())
    return sweep.Sweeper(
        context, cfg.CONF, rebuilds.Rebuilds(cfg.CONF),
        notices.Notices(in_cell0), showing.Showing(in_cell0))
