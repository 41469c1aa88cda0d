# SPDX-License-Identifier: Apache-2.0

"""The RPC server that listens for rebuilds in each conductor worker."""

from __future__ import annotations

import typing as ty

import futurist
from nova.objects import base as objects_base
from nova import rpc
from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging as messaging

from cell0_rebuild import nova_compat
from cell0_rebuild import rpcapi

if ty.TYPE_CHECKING:
    from nova import service as nova_service

LOG = logging.getLogger(__name__)

_BINARY = 'nova-conductor'
_ATTRIBUTE = '_cell0_rebuild_server'


class RebuildServer:
    """Listens for rebuilds and runs them."""

    def __init__(self) -> None:
        # This module is imported to patch nova.service, before nova's
        # objects are: too early for what imports them.
        from cell0_rebuild.conductor import endpoint
        self._executor = _executor(cfg.CONF.executor_thread_pool_size)
        self._server = rpc.get_server(
            messaging.Target(topic=rpcapi.TOPIC, server=cfg.CONF.host),
            [endpoint.RebuildEndpoint(self._executor)],
            objects_base.NovaObjectSerializer())

    def start(self) -> None:
        """Begin to listen."""
        self._server.start()
        LOG.info('Listening for rebuilds of servers that are buried in '
                 'cell0.')

    def stop(self) -> None:
        """Stop listening, and wait for the rebuilds in progress."""
        try:
            self._server.stop()
            self._server.wait()
            self._executor.shutdown(wait=True)
        except Exception:
            # Nova's own service is to stop all the same.
            LOG.exception('The RPC server of rebuilds did not stop well.')


def start(
    wrapped: ty.Callable[..., None], service: nova_service.Service,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``Service.start``: a conductor listens to our topic too."""
    wrapped(*args, **kwargs)
    if service.binary == _BINARY:
        server = RebuildServer()
        server.start()
        setattr(service, _ATTRIBUTE, server)


def stop(
    wrapped: ty.Callable[..., None], service: nova_service.Service,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``Service.stop``: rebuilds in progress end before the rest."""
    server = vars(service).pop(_ATTRIBUTE, None)
    if server is not None:
        server.stop()
    wrapped(*args, **kwargs)


def _executor(
    size: int
) -> futurist.ThreadPoolExecutor | futurist.GreenThreadPoolExecutor:
    if nova_compat.runs_with_threads():
        return futurist.ThreadPoolExecutor(max_workers=size)
    return futurist.GreenThreadPoolExecutor(max_workers=size)
