# SPDX-License-Identifier: Apache-2.0

"""Write a new image to the root volume of a server before it is scheduled.

Cinder writes it to a volume that stays reserved for the server. A compute of
Nova waits for an event of Cinder. Here is no compute yet, so the conductor
looks at the volume.
"""

from __future__ import annotations

import dataclasses
import time
import typing as ty

from keystoneauth1 import exceptions as ks_exc
import nova.conf
from nova import exception
from nova.volume import cinder
from oslo_db import exception as db_exc
from oslo_log import log as logging
import tenacity

from cell0_rebuild.conductor import write_evidence
from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

_PAUSE = 2


class ReimageFailed(exception.NovaException):  # type: ignore[misc]
    """The image is not on the volume, or nobody knows if it is."""

    msg_fmt = ('Image %(image_id)s could not be written to volume '
               '%(volume_id)s: %(reason)s. When the volume is "reserved", '
               'rebuild the server with an image.')


@dataclasses.dataclass(frozen=True)
class Volume:
    """A root volume that gets a new image.

    :param id: of the volume.
    :param attachment_id: of the attachment that reserves it for the server;
        None in the old form, without attachments.
    :param image_id: of the image.
    """

    id: str
    attachment_id: str | None
    image_id: str

    def write(self, context: nova_context.RequestContext) -> Write:
        """Ask Cinder to write the image.

        :returns: what may have begun.
        :raises InvalidVolume: if it has not, because Cinder refuses or was not
            asked.
        """
        try:
            before = self.look(context)
        except Exception as error:
            raise self._refused(error) from error
        asked_at = time.monotonic()
        try:
            cinder.API().reimage_volume(
                context, self.id, self.image_id, reimage_reserved=True)
        except Exception as error:
            if self._is_refused(context, error, before):
                raise self._refused(error) from error
            LOG.warning('It is not known if Cinder writes image %s to volume '
                        '%s: %s', self.image_id, self.id, error)
            return Write(self, before)
        return Write(self, before, asked_at)

    def look(
        self, context: nova_context.RequestContext
    ) -> write_evidence.Seen:
        """Return the volume as Cinder shows it now."""
        return write_evidence.Seen.of(cinder.API().get(context, self.id))

    def _is_refused(
        self, context: nova_context.RequestContext, error: Exception,
        before: write_evidence.Seen,
    ) -> bool:
        try:
            return write_evidence.is_refused(
                _code(error), before, self.look(context))
        except Exception as unknown:
            LOG.warning('Cinder does not tell the state of volume %s: %s',
                        self.id, unknown)
            return False

    def _refused(self, error: Exception) -> exception.InvalidVolume:
        return exception.InvalidVolume(
            reason=f'Cinder does not write image {self.image_id} to volume '
                   f'{self.id}: {error}')


@dataclasses.dataclass
class Write:
    """A write that Cinder may have begun.

    :param before: the volume before Cinder was asked.
    :param busy_at: when it was busy last, on the monotonic clock; None if
        nobody has seen that.
    """

    volume: Volume
    before: write_evidence.Seen
    busy_at: float | None = None

    def wait(
        self, context: nova_context.RequestContext,
        go_on: ty.Callable[[], None],
    ) -> None:
        """Wait until Cinder has written the image.

        Glance has the size of a file, which may be compressed. Cinder writes
        all that it stands for, and that is no more than the volume has.

        :param go_on: is called now and then; a StaleAttempt that it raises
            ends the wait.
        :raises ReimageFailed: if that was not seen within
            ``reimage_timeout_per_gb`` seconds for each GiB of the volume.
        """
        patience = (max(self.before.gigabytes, 1)
                    * nova.conf.CONF.reimage_timeout_per_gb)

        def look() -> write_evidence.Seen:
            go_on()
            looked_at = time.monotonic()
            seen = self.volume.look(context)
            if seen.is_busy:
                self.busy_at = looked_at
            if self.volume.attachment_id is not None:
                cinder.API().attachment_get(context, self.volume.attachment_id)
            return seen

        try:
            seen = tenacity.Retrying(
                retry=(tenacity.retry_if_result(lambda seen: seen.is_busy)
                       | tenacity.retry_if_exception(_may_pass)),
                stop=tenacity.stop_after_delay(patience),
                wait=tenacity.wait_fixed(_PAUSE))(look)
        except exceptions.StaleAttempt:
            raise
        except tenacity.RetryError as error:
            raise self._failed(
                f'it was not ready after {patience} s') from error
        except Exception as error:
            raise self._failed(exceptions.text(error)) from error
        self._check(seen)

    def _check(self, seen: write_evidence.Seen) -> None:
        unseen = None if self.busy_at is None else (
            time.monotonic() - self.busy_at)
        if write_evidence.is_written(
                self.volume.image_id, self.before, seen, unseen):
            return
        if seen.status == self.before.status:
            raise self._failed('nobody saw Cinder do it')
        raise self._failed(f'its status is {seen.status}')

    def _failed(self, reason: str) -> ReimageFailed:
        return ReimageFailed(
            image_id=self.volume.image_id, volume_id=self.volume.id,
            reason=reason.rstrip('.'))


def _code(error: BaseException) -> int | None:
    """Return the HTTP status that an error stands for, if it does."""
    code = getattr(error, 'http_status', None) or getattr(error, 'code', None)
    return code if isinstance(code, int) else None


def _may_pass(error: BaseException) -> bool:
    """Tell whether an error says nothing about the volume itself."""
    code = _code(error)
    return (code is not None and code >= 500) or isinstance(
        error, (ks_exc.ConnectionError, db_exc.DBError))
