# SPDX-License-Identifier: Apache-2.0

"""Show servers that asked to wait as BUILD from their burial on.

The waiting service does so only with its next sweep. By then a client that
waits for a server has seen ERROR and has given up.
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import typing as ty

from nova.compute import vm_states
from oslo_config import cfg
from oslo_log import log as logging

from cell0_rebuild.wait import wish_options
from cell0_rebuild.wait import wishes

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

LOG = logging.getLogger(__name__)

_shown: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
    'cell0_rebuild_shown', default=frozenset())


@contextlib.contextmanager
def shown(
    build_requests: collections.abc.Iterable[ty.Any]
) -> collections.abc.Iterator[None]:
    """Show those who asked to wait as BUILD, in a burial inside ``with``.

    :param build_requests: of servers that can be rebuilt.
    """
    token = _shown.set(_who_asked(build_requests))
    try:
        yield
    finally:
        _shown.reset(token)


def set_vm_state_and_notify(
    wrapped: ty.Callable[..., None], manager: ty.Any,
    context: nova_context.RequestContext, instance_uuid: str, method: str,
    updates: dict[str, ty.Any], *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``ComputeTaskManager._set_vm_state_and_notify``."""
    if instance_uuid in _shown.get():
        updates = dict(updates, vm_state=vm_states.BUILDING)
    wrapped(context, instance_uuid, method, updates, *args, **kwargs)


def _who_asked(
    build_requests: collections.abc.Iterable[ty.Any]
) -> frozenset[str]:
    wish_options.register(cfg.CONF)
    try:
        if not _are_shown():
            return frozenset()
        site = wish_options.site(cfg.CONF)
        return frozenset(
            request.instance_uuid for request in build_requests
            if _asked(request.instance, site))
    except Exception as error:
        # A server that is shown as ERROR is found; one that is not buried is
        # lost.
        LOG.warning('Servers that wait are not shown as BUILD: %s', error)
        return frozenset()


def _are_shown() -> bool:
    """Tell whether the site shows some servers that wait as BUILD.

    :raises ValueError: if an option has a value that cannot be.
    """
    return (cfg.CONF[wish_options.GROUP.name].show == 'build'
            # Else nova-api would refuse to rebuild them.
            and vm_states.BUILDING in cfg.CONF.cell0_rebuild.vm_states)


def _asked(instance: objects.Instance, site: wishes.Site) -> bool:
    # What is not there would be loaded from a database.
    return wishes.wish(
        instance.metadata if 'metadata' in instance else {},
        instance.flavor.extra_specs or {} if 'flavor' in instance else {},
        site).asked
