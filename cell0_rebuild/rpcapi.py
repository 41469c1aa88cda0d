# SPDX-License-Identifier: Apache-2.0

"""Client side of the RPC API that rebuilds buried servers."""

from __future__ import annotations

from concurrent import futures
import threading
import typing as ty

from nova import exception
from nova.objects import base as objects_base
from nova import rpc
from oslo_config import cfg
import oslo_messaging as messaging

from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    from nova import context as nova_context
    from nova import objects

TOPIC = 'cell0_rebuild'
NAMESPACE = 'cell0_rebuild'
VERSION = '1.0'

# Calls that wait for a broker to come back must not pile up for ever.
_calls = threading.BoundedSemaphore(100)


class RebuildAPI:
    """Client side of the RPC API that rebuilds buried servers.

    It has a topic of its own, which only conductors with this package
    consume: a message can reach none that does not know it.

    API version history:

    * 1.0 - Initial version, ping() and rebuild_instance_in_cell0().
    """

    def __init__(self) -> None:
        self._client = rpc.get_client(
            messaging.Target(
                topic=TOPIC, namespace=NAMESPACE, version=VERSION),
            serializer=objects_base.NovaObjectSerializer())

    def ping(self, context: nova_context.RequestContext) -> None:
        """Make sure that there is a conductor for what follows.

        :raises NoConductor: if none answers within
            ``[cell0_rebuild] answer_timeout`` seconds.
        """
        self._call(context, 'ping')

    def rebuild_instance_in_cell0(
        self, context: nova_context.RequestContext, instance_uuid: str,
        attempt_id: str, request_spec: objects.RequestSpec,
        image: dict[str, ty.Any], admin_password: str | None,
        injected_files: list[list[str]], reimage_volume_id: str | None = None,
    ) -> bool:
        """Hand a server to a conductor that rebuilds it.

        This is a call: the conductor answers when it has taken the attempt
        and goes on by itself. A cast may be lost, with a conductor that
        stops and acknowledges what it will never do.

        :param instance_uuid: the server, which has a build request.
        :param attempt_id: of the attempt that nova-api has asked for.
        :param request_spec: complete, as for a create.
        :param image: the image, as Nova's image API gives it.
        :param injected_files: ``[path, content]`` of each personality file.
        :param reimage_volume_id: the root volume, if Cinder has to write the
            image to it.
        :returns: False if the conductor has nothing to do: the attempt has
            ended or is taken already, or its database is behind.
        :raises NoConductor: if none says in time that it has taken the
            attempt. One may have taken it all the same.
        :raises InvalidVolume: if Cinder refuses. The conductor has buried the
            server again, as it was.
        """
        return bool(self._call(
            context, 'rebuild_instance_in_cell0',
            # It answers when Cinder has.
            cfg.CONF.rpc_response_timeout if reimage_volume_id else None,
            instance_uuid=instance_uuid, attempt_id=attempt_id,
            request_spec=request_spec, image=image,
            admin_password=admin_password, injected_files=injected_files,
            reimage_volume_id=reimage_volume_id))

    def _call(
        self, context: nova_context.RequestContext, method: str,
        timeout: int | None = None, **arguments: ty.Any,
    ) -> ty.Any:
        answer_timeout = cfg.CONF.cell0_rebuild.answer_timeout
        client = self._client.prepare(
            timeout=timeout or answer_timeout, retry=1,
            call_monitor_timeout=answer_timeout if timeout else None,
            # A broker that knows no consumer of the topic says so at once,
            # instead of dropping the message.
            transport_options=messaging.TransportOptions(at_least_once=True))
        try:
            return _within(
                (timeout or answer_timeout) + answer_timeout,
                lambda: client.call(context, method, **arguments))
        except exception.InvalidVolume:
            raise
        except Exception as error:
            # Not only oslo.messaging's: kombu's own come through where a
            # connection is new. Some have a type and no text.
            raise exceptions.NoConductor(repr(error)) from error


def _within(seconds: int, call: ty.Callable[[], ty.Any]) -> ty.Any:
    """Make a call that does not end if the broker is down.

    oslo.messaging tries the first connection of a process, the one for
    answers, without end. The call goes on when the broker is there again, and
    then finds its attempt ended.

    :raises TimeoutError: if it has not ended in time.
    """
    answer: futures.Future[ty.Any] = futures.Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)
        finally:
            _calls.release()

    if not _calls.acquire(timeout=seconds):
        raise futures.TimeoutError('too many calls wait for the broker')
    # An executor would keep the process from ending.
    threading.Thread(target=run, daemon=True).start()
    return answer.result(seconds)
