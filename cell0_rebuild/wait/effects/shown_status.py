# SPDX-License-Identifier: Apache-2.0

"""Shows servers that wait as BUILD, and those that no longer wait as ERROR.

It changes the ``vm_state`` of the row in cell0. A row is left alone if it is
hidden, deleted or being deleted, or if its state has changed meanwhile.
"""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import itertools
import typing as ty

from nova.compute import vm_states
from nova import context as nova_context
from nova.db.main import api as main_db_api
from nova.db.main import models
from nova import objects
from oslo_config import cfg

from cell0_rebuild import db_errors
from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait.census import outages
from cell0_rebuild.wait import texts

# It takes the place of the fault of the burial.
_CODE = 500

# One sweep writes no more rows, so that the next one is not late.
_MOST = 100


class ShownStatus:
    """The status that is shown of servers in cell0."""

    def __init__(self, context: nova_context.RequestContext) -> None:
        """:param context: an administrator's, targeted at cell0."""
        self._context = context

    def update(
        self, waiting: collections.abc.Set[str],
        shown: collections.abc.Set[str],
    ) -> None:
        """Show these servers as BUILD, and no others.

        Nothing is read or written for servers that are shown right already. A
        server that Nova is about to bury has a task_state and is left alone.
        One sweep changes 100 servers at most, first those that no longer
        wait.

        :param waiting: the servers to show as BUILD.
        :param shown: the servers that are shown as BUILD now.
        """
        written = itertools.chain(
            (uuid for uuid in sorted(shown - waiting)
             if self._has_shown(show_error, uuid)),
            (uuid for uuid in sorted(waiting - shown)
             if self._has_shown(_show_build, uuid)))
        collections.deque(itertools.islice(written, _MOST), maxlen=0)

    def _has_shown(
        self, show: collections.abc.Callable[[ty.Any, str], bool], uuid: str
    ) -> bool:
        with contextlib.suppress(_Ended), outages.skipped('The status', uuid):
            return show(self._context, uuid)
        return False


class _Ended(Exception):
    """The waiting of the server was ended meanwhile, or nobody can tell."""


@db_errors.retried
@main_db_api.pick_context_manager_writer
def _show_build(context: nova_context.RequestContext, uuid: str) -> bool:
    # An operator's command writes the decision first, and then this row. So
    # this function or the command sees what the other has written.
    if not _set_state(context, uuid, [
            state for state in cfg.CONF.cell0_rebuild.vm_states
            if state != vm_states.BUILDING], vm_states.BUILDING):
        return False
    decision = operator_decisions.current(
        nova_context.get_admin_context(), uuid)
    if decision is None or decision.ended:
        raise _Ended
    return True


@db_errors.retried
@main_db_api.pick_context_manager_writer
def show_error(context: nova_context.RequestContext, uuid: str) -> bool:
    """Show a server that is shown as BUILD as ERROR, with a fault.

    :param context: targeted at cell0.
    :returns: whether it was shown as BUILD.
    """
    if not _set_state(context, uuid, [vm_states.BUILDING], vm_states.ERROR):
        return False
    objects.InstanceFault(
        context, instance_uuid=uuid, code=_CODE, message=texts.WAITS_NO_LONGER,
        details='', host=None).create()
    return True


def _set_state(
    context: nova_context.RequestContext, uuid: str, old: list[str], new: str
) -> bool:
    model = models.Instance
    changes = {'vm_state': new}
    if new == vm_states.BUILDING:
        # To its owner the server has not changed by it.
        changes['updated_at'] = model.updated_at
    return bool(context.session.query(model).filter_by(
        uuid=uuid, deleted=0, host=None, launched_at=None, task_state=None,
    ).filter(model.hidden.isnot(True), model.vm_state.in_(old)).update(
        changes, synchronize_session=False))
