# SPDX-License-Identifier: Apache-2.0

"""Server side of the RPC API that rebuilds buried servers."""

from __future__ import annotations

import contextlib
import typing as ty

from nova import exception
from oslo_db import exception as db_exc
from oslo_log import log as logging
import oslo_messaging as messaging

from cell0_rebuild.conductor import builder
from cell0_rebuild.conductor import reimage
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import deletion
from cell0_rebuild import retained_db
from cell0_rebuild import rpcapi

if ty.TYPE_CHECKING:
    from concurrent import futures

    from nova import context as nova_context
    from nova import objects

LOG = logging.getLogger(__name__)


class RebuildEndpoint:
    """Server side of the RPC API; see :class:`rpcapi.RebuildAPI`."""

    target = messaging.Target(
        namespace=rpcapi.NAMESPACE, version=rpcapi.VERSION)

    def __init__(self, executor: futures.Executor) -> None:
        """:param executor: runs the builds, so that a call is answered."""
        self._executor = executor
        self._builder = builder.Builder()

    def ping(self, context: nova_context.RequestContext) -> bool:
        """Tell that a conductor is there that can rebuild buried servers."""
        return True

    @messaging.expected_exceptions(exception.InvalidVolume)
    @db_errors.hidden_values()
    def rebuild_instance_in_cell0(
        self, context: nova_context.RequestContext, instance_uuid: str,
        attempt_id: str, request_spec: objects.RequestSpec,
        image: dict[str, ty.Any], admin_password: str | None,
        injected_files: list[list[str]], reimage_volume_id: str | None = None,
    ) -> bool:
        """Take a server that nova-api has moved out of cell0, and build it.

        :returns: False if the attempt has ended, or a message for it came
            before; nothing is done then. True when it is taken; the build
            goes on after the answer.
        :raises InvalidVolume: if Cinder refuses to write the image to the
            root volume; the server is buried again, as it was.
        """
        attempt = attempts.begin(
            context, instance_uuid, attempt_id,
            None if reimage_volume_id else request_spec)
        if attempt is None:
            LOG.info('Rebuild attempt %s has ended or was taken already.',
                     attempt_id, instance_uuid=instance_uuid)
            return False
        write = None
        if reimage_volume_id:
            root = attempt.bdms.root_bdm()
            volume = reimage.Volume(
                reimage_volume_id, root.attachment_id, image['id'])
            try:
                write = self._reimage(context, attempt, request_spec, volume)
            except exceptions.StaleAttempt as error:
                LOG.warning('%s', error, instance_uuid=instance_uuid)
                deletion.erase(context, instance_uuid)
                return False
        self._executor.submit(
            self._build, context, attempt, request_spec, image,
            admin_password, injected_files, write)
        return True

    def _reimage(
        self, context: nova_context.RequestContext, attempt: attempts.Attempt,
        request_spec: objects.RequestSpec, volume: reimage.Volume,
    ) -> reimage.Write:
        is_known = False
        write = None
        try:
            is_known = retained_db.is_root_known(context, attempt.uuid)
            attempts.keep_root_known(context, attempt, False)
            with attempts.held_current(context, attempt):
                write = volume.write(context)
        except (exception.InvalidVolume, exceptions.Unreadable,
                db_exc.DBError) as error:
            # Cinder may write: whoever waits for it will see.
            if write is not None:
                return write
            LOG.warning('The rebuild is taken back: %s', error,
                        instance_uuid=attempt.uuid)
            if is_known:
                with contextlib.suppress(db_exc.DBError):
                    attempts.keep_root_known(context, attempt, True)
            self._builder.refuse(context, attempt, request_spec, error)
            raise
        return write

    def _build(
        self, context: nova_context.RequestContext, attempt: attempts.Attempt,
        *args: ty.Any,
    ) -> None:
        # Logs in this thread tell the request.
        context.update_store()
        LOG.info('Rebuilding the server that was buried in cell0.',
                 instance_uuid=attempt.uuid)
        try:
            with db_errors.hidden_values():
                self._builder.build(context, attempt, *args)
        except Exception:
            LOG.exception('The rebuild ended halfway.',
                          instance_uuid=attempt.uuid)
