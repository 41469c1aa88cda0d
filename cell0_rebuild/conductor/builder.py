# SPDX-License-Identifier: Apache-2.0

"""Nova's build of a server, for one that comes out of cell0.

A subclass of Nova's ComputeTaskManager, so that creates never come here. It
overrides the steps of ``schedule_and_build_instances`` in which a rebuild
differs. The attempt may become stale during the scheduling. The server has a
history. If the build fails, the server goes back to cell0.
"""

from __future__ import annotations

import contextlib
import copy
import typing as ty

from nova.conductor import manager
from nova import exception
from nova import objects
from oslo_db import exception as db_exc
from oslo_log import log as logging
import tenacity

from cell0_rebuild import cells
from cell0_rebuild.conductor import ec2
from cell0_rebuild.conductor import mapping_guard
from cell0_rebuild.conductor import reimage
from cell0_rebuild.conductor import resource_claims
from cell0_rebuild.conductor import throttle
from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild.move import cell0_copy
from cell0_rebuild.move import deletion
from cell0_rebuild.move import location
from cell0_rebuild.move import reburial
from cell0_rebuild import phase_times
from cell0_rebuild import texts

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)


# For a burial: without it the server stays in BUILD until a recovery.
_outlasting = tenacity.retry(
    retry=tenacity.retry_if_exception_type(db_exc.DBError),
    stop=tenacity.stop_after_attempt(5),
    wait=tenacity.wait_exponential(multiplier=0.5), reraise=True)


# A conductor that is stale may have created a row after those that attempts
# have left were removed.
_unique = tenacity.retry(
    retry=tenacity.retry_if_exception_type(db_exc.DBDuplicateEntry),
    stop=tenacity.stop_after_attempt(2), reraise=True)


class _NoBuildRequest:
    """Stands for the build request of a server that its owner deleted."""

    def __init__(self, instance_uuid: str) -> None:
        self._uuid = instance_uuid

    def destroy(self) -> None:
        """Say that there is none, as Nova's BuildRequest does."""
        raise exception.BuildRequestNotFound(uuid=self._uuid)


class Builder(manager.ComputeTaskManager):  # type: ignore[misc]
    """Builds the server of one attempt."""

    _attempt: attempts.Attempt
    _context: nova_context.RequestContext
    _phases: phase_times.Phases
    _slot: throttle.Slot
    _cell: objects.CellMapping | None = None
    _selection: objects.Selection | None = None
    _accelerators: ty.Any = ()
    # Not in a real cell: it was buried, or its build request had gone. There
    # is nothing left to bury or to finish.
    _has_ended = False

    def __init__(self) -> None:
        super().__init__()
        self._slots = throttle.Slots()

    def build(
        self, context: nova_context.RequestContext, attempt: attempts.Attempt,
        request_spec: objects.RequestSpec, image: dict[str, ty.Any],
        admin_password: str | None, injected_files: list[list[str]],
        write: reimage.Write | None = None,
    ) -> None:
        """Build the server, or bury it again if that fails.

        :param write: the write of an image to its root volume.
        """
        builder = self._copy_for(attempt, context)
        with builder._slot.taken():
            builder._build(
                context, attempt, request_spec, image, admin_password,
                injected_files, write)
        builder._phases.end('finish')
        LOG.debug('The rebuild has ended: %s', builder._phases,
                  instance_uuid=attempt.uuid)

    def refuse(
        self, context: nova_context.RequestContext, attempt: attempts.Attempt,
        request_spec: objects.RequestSpec, error: Exception,
    ) -> None:
        """Bury the server again, unchanged.

        The failure is recorded only if the request was answered before.
        """
        builder = self._copy_for(attempt, context)
        if _is_answered(context, attempt):
            builder._bury_again(context, error, request_spec)
        else:
            builder._try_to_bury(context)
        deletion.erase(context, attempt.uuid)

    def _copy_for(
        self, attempt: attempts.Attempt, context: nova_context.RequestContext
    ) -> Builder:
        """Return a manager for one attempt alone.

        Nova's steps do not pass on what an attempt needs. A copy has it, and
        shares the clients that Nova makes when a service starts.
        """
        builder = copy.copy(self)
        builder._attempt, builder._context = attempt, context
        builder._phases = phase_times.Phases()
        builder._slot = self._slots.new()
        return builder

    def _build(
        self, context: nova_context.RequestContext, attempt: attempts.Attempt,
        request_spec: objects.RequestSpec, image: dict[str, ty.Any],
        admin_password: str | None, injected_files: list[list[str]],
        write: reimage.Write | None,
    ) -> None:
        try:
            # It may have waited for a thread or a slot.
            self._go_on()
            self._phases.end('queue')
            if write is not None:
                attempts.accept(context, attempt, request_spec)
                with self._slot.given_back():
                    write.wait(context, self._go_on)
                attempts.keep_root_known(context, attempt, True)
                self._phases.end('image')
            self._place(
                context, request_spec, image, admin_password, injected_files)
        except exceptions.StaleAttempt as error:
            LOG.warning('%s', error, instance_uuid=attempt.uuid)
        except Exception as error:
            db_errors.without_values(error)
            LOG.exception('The rebuild failed.', instance_uuid=attempt.uuid)
            if not self._has_ended:
                self._bury_again(context, error, request_spec)
        is_finished = self._cell is not None and not self._has_ended and (
            attempts.finish(context, attempt, self._cell))
        if not is_finished:
            deletion.erase(context, attempt.uuid)
        # If it failed, another conductor may build it the next time.
        ec2.forget_id(attempt.uuid)

    @_unique
    def _place(
        self, context: nova_context.RequestContext,
        request_spec: objects.RequestSpec, image: dict[str, ty.Any],
        admin_password: str | None, injected_files: list[list[str]],
    ) -> None:
        """Have Nova schedule the server, create its row and tell the compute.

        :raises DBDuplicateEntry: if the cell has a row of the server.
        """
        attempt = self._attempt
        attempts.remove_left(context, attempt)
        resource_claims.release_leftovers(context, attempt, request_spec)
        with mapping_guard.checked(self._check_current):
            self.schedule_and_build_instances(
                context, [attempt.build_request], [request_spec], image,
                admin_password, injected_files,
                requested_networks=request_spec.requested_networks
                if 'requested_networks' in request_spec else None,
                block_device_mapping=cell0_copy.new_bdms(
                    context, attempt.build_request.block_device_mappings),
                tags=cell0_copy.new_tags(
                    attempt.build_request.tags, attempt.uuid))

    def _go_on(self) -> None:
        if not attempts.refresh(self._context, self._attempt):
            raise self._attempt.stale()

    def _schedule_instances(
        self, context: nova_context.RequestContext,
        request_spec: objects.RequestSpec, *args: ty.Any, **kwargs: ty.Any,
    ) -> ty.Any:
        """Extend Nova's: go on only if the attempt still is the current one.

        :raises StaleAttempt: which Nova answers with a burial, see below.
        """
        with self._slot.given_back():
            hosts = super()._schedule_instances(
                context, request_spec, *args, **kwargs)
        self._selection = hosts[0][0]
        self._phases.end('scheduling')
        # Nova itself clears up after a server that was deleted meanwhile.
        self._check_current(self._selection.cell_uuid)
        return hosts

    def _check_current(self, next_cell: str | None = None) -> None:
        """Release the claim if the attempt is no longer the current one.

        :param next_cell: the UUID of the cell in which Nova creates it next.
        :raises StaleAttempt: if so, unless the owner deleted the server.
        """
        if attempts.refresh(self._context, self._attempt, next_cell) or (
                location.is_deleted_on_its_way(
                    self._context, self._attempt.uuid)):
            return
        self._release(self._context)
        raise self._attempt.stale()

    def _release(self, context: nova_context.RequestContext) -> None:
        if self._selection is not None:
            # It may wait for a newer attempt, which needs a slot.
            with self._slot.given_back():
                resource_claims.release(
                    context, self.report_client, self._attempt.uuid,
                    self._selection)

    def _bury_in_cell0(
        self, context: nova_context.RequestContext,
        request_spec: objects.RequestSpec, exc: Exception, *args: ty.Any,
        **kwargs: ty.Any,
    ) -> None:
        """Replace Nova's, which creates the row that we still have."""
        if isinstance(exc, exceptions.StaleAttempt):
            raise exc
        self._bury_again(context, exc, request_spec)

    def _create_block_device_mapping(self, *args: ty.Any) -> ty.Any:
        """Extend Nova's, which would overwrite those of a later attempt."""
        return self._while_current(
            super()._create_block_device_mapping, *args)

    def _create_tags(self, *args: ty.Any) -> ty.Any:
        """Extend Nova's likewise."""
        create, (*_, tags) = super()._create_tags, args
        return self._while_current(create, *args) if tags else create(*args)

    def _while_current(
        self, create: ty.Callable[..., ty.Any], *args: ty.Any
    ) -> ty.Any:
        with contextlib.suppress(exceptions.StaleAttempt), (
                attempts.held_current(
                    self._context, self._attempt, or_deleted=True)):
            return create(*args)
        # The hand-over, which comes next, clears up.
        return args[-1]

    def _map_instance_to_cell(  # type: ignore[override]
        self, context: nova_context.RequestContext, instance: objects.Instance,
        cell: objects.CellMapping,
    ) -> None:
        """Replace Nova's: the hand-over, which comes next, maps the server."""

    def _delete_build_request(
        self, context: nova_context.RequestContext,
        build_request: objects.BuildRequest, instance: objects.Instance,
        cell: objects.CellMapping,
        instance_bdms: objects.BlockDeviceMappingList,
        instance_tags: objects.TagList,
    ) -> bool:
        """Extend Nova's by the hand-over.

        :raises StaleAttempt: if the attempt is no longer the current one.
        """
        self._phases.end('rows')
        self._cell = cell
        if attempts.hand_over(
                context, self._attempt, cell, instance, instance_bdms):
            self._phases.end('hand-over')
            return True
        self._has_ended = True
        if not location.is_deleted_on_its_way(context, instance.uuid):
            attempts.remove_row(context, self._attempt, cell, instance.id)
            self._release(context)
            raise self._attempt.stale()
        super()._delete_build_request(
            context, _NoBuildRequest(instance.uuid), instance, cell,
            instance_bdms, instance_tags)
        deletion.remove_cell0_row(context, instance.uuid)
        # The delete may have been through with them before the claim.
        resource_claims.release_all(context, instance.uuid)
        return False

    def _create_and_bind_arq_for_instance(
        self, context: nova_context.RequestContext, instance: objects.Instance,
        hostname: str, request_spec: objects.RequestSpec, *args: ty.Any,
        **kwargs: ty.Any,
    ) -> ty.Any:
        """Extend Nova's to know the accelerators that are bound.

        :raises StaleAttempt: if the server is no longer where it was put.
        """
        wanted = resource_claims.has_accelerators(request_spec)
        with attempts.held_in_cell(
                context, self._attempt, self._cell) if wanted else (
                    contextlib.nullcontext()):
            self._accelerators = super()._create_and_bind_arq_for_instance(
                context, instance, hostname, request_spec, *args, **kwargs)
        return self._accelerators

    def _cleanup_build_artifacts(
        self, context: nova_context.RequestContext, exc: Exception,
        instances: list[objects.Instance],
        build_requests: list[objects.BuildRequest],
        request_specs: list[objects.RequestSpec], *args: ty.Any,
        **kwargs: ty.Any,
    ) -> None:
        """Replace Nova's, which leaves the server in a real cell.

        Nova raises the exception again after it.
        """
        self._bury_again(context, exc, request_specs[0])

    def _bury_again(
        self, context: nova_context.RequestContext, exc: Exception,
        request_spec: objects.RequestSpec,
    ) -> None:
        db_errors.without_values(exc)
        texts.fit(exc)
        if self._cell is None:
            # A recovery is to leave it alone meanwhile.
            _outlasting(attempts.refresh)(context, self._attempt)

        def record(cctxt: nova_context.RequestContext) -> None:
            instance = objects.Instance.get_by_uuid(
                cctxt, self._attempt.uuid, expected_attrs=[])
            self._create_instance_action_for_cell0(cctxt, instance, exc)

        def notify(cctxt: nova_context.RequestContext) -> None:
            # Its owner may delete it just then.
            with contextlib.suppress(exception.InstanceNotFound):
                instance = objects.Instance.get_by_uuid(
                    cctxt, self._attempt.uuid, expected_attrs=[])
                self._set_vm_state_and_notify(
                    cctxt, instance.uuid, 'build_instances',
                    # A site may have another state than ERROR for it.
                    {'vm_state': instance.vm_state, 'task_state': None}, exc,
                    request_spec)

        try:
            buried = self._try_to_bury(context, record, notify)
        except exception.ObjectActionError as error:
            # The message that could not be sent has arrived.
            LOG.warning('%s', error, instance_uuid=self._attempt.uuid)
            return
        self._phases.end('burial')
        self._has_ended = True
        resource_claims.release_accelerators(
            context, self._attempt, self._accelerators, buried)
        is_deleted = (location.is_deleted_on_its_way if self._cell is None
                      else location.is_abandoned)
        if not buried and not is_deleted(context, self._attempt.uuid):
            LOG.warning('%s', self._attempt.stale(),
                        instance_uuid=self._attempt.uuid)
            # They may be those of a live server.
            self._release(context)
            return
        resource_claims.release_all(context, self._attempt.uuid)

    @_outlasting
    def _try_to_bury(
        self, context: nova_context.RequestContext,
        record: ty.Callable[[nova_context.RequestContext], None] | None = None,
        notify: ty.Callable[[nova_context.RequestContext], None] | None = None,
    ) -> bool:
        return reburial.bury_again(
            context, self._attempt,
            self._cell or cells.selected(context, self._selection),
            record, notify=notify)


def _is_answered(
    context: nova_context.RequestContext, attempt: attempts.Attempt
) -> bool:
    """Tell whether the request was answered; if nobody can tell, it was."""
    try:
        return bool(_outlasting(attempts.is_answered)(context, attempt))
    except (db_exc.DBError, exceptions.Unreadable):
        return True
