# SPDX-License-Identifier: Apache-2.0

"""Write a new image to the root volume of a server before it is scheduled.

Cinder writes it to a volume that stays reserved for the server. A compute of
Nova waits for an event of Cinder. Here is no compute yet, so the conductor
looks at the volume.
"""

from __future__ import annotations

import dataclasses
import math
import typing as ty

from cinderclient import exceptions as cinder_exc
from keystoneauth1 import exceptions as ks_exc
import nova.conf
from nova import exception
from nova.volume import cinder
from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_utils import units
import tenacity

from cell0_rebuild import exceptions

if ty.TYPE_CHECKING:
    from nova import context as nova_context

LOG = logging.getLogger(__name__)

_PAUSE = 2


class ReimageFailed(exception.NovaException):  # type: ignore[misc]
    """The image is not on the volume."""

    msg_fmt = ('Image %(image_id)s could not be written to volume '
               '%(volume_id)s: %(reason)s. When the volume is "reserved", '
               'rebuild the server with an image.')


@dataclasses.dataclass(frozen=True)
class Volume:
    """A root volume that gets a new image.

    :param id: of the volume.
    :param attachment_id: of the attachment that reserves it for the server;
        None in the old form, without attachments.
    :param image: as Nova's image API gives it.
    """

    id: str
    attachment_id: str | None
    image: dict[str, ty.Any]

    def write(self, context: nova_context.RequestContext) -> None:
        """Ask Cinder to write the image.

        :raises InvalidVolume: if it refuses.
        """
        try:
            cinder.API().reimage_volume(
                context, self.id, self.image['id'], reimage_reserved=True)
        except Exception as error:
            # It may have begun without being heard.
            if _may_pass(error) and self._has_begun(context):
                return
            raise exception.InvalidVolume(
                reason=f'Cinder does not write image {self.image["id"]} to '
                       f'volume {self.id}: {error}') from error

    def _has_begun(self, context: nova_context.RequestContext) -> bool:
        """Tell whether Cinder writes the image; True if nobody knows."""
        try:
            volume = cinder.API().get(context, self.id)
        except Exception as error:
            LOG.warning('Cinder does not tell the state of volume %s: %s',
                        self.id, error)
            return True
        return _is_busy(volume) or self._is_on(volume)

    def wait(
        self, context: nova_context.RequestContext,
        go_on: ty.Callable[[], None],
    ) -> None:
        """Wait until Cinder has written the image.

        :param go_on: is called now and then; a StaleAttempt that it raises
            ends the wait.
        :raises ReimageFailed: if Cinder failed, or needs longer than
            ``reimage_timeout_per_gb`` seconds for each GiB of the image.
        """
        gigabytes = math.ceil(int(self.image.get('size') or 0) / units.Gi)
        patience = max(gigabytes, 1) * nova.conf.CONF.reimage_timeout_per_gb

        def look() -> dict[str, ty.Any]:
            go_on()
            volume: dict[str, ty.Any] = cinder.API().get(context, self.id)
            if self.attachment_id is not None:
                cinder.API().attachment_get(context, self.attachment_id)
            return volume

        try:
            volume = tenacity.Retrying(
                retry=(tenacity.retry_if_result(_is_busy)
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
        self._check(volume)

    def _check(self, volume: dict[str, ty.Any]) -> None:
        if volume['status'] == 'error' or not self._is_on(volume):
            raise self._failed(f'its status is {volume["status"]}')

    def _is_on(self, volume: dict[str, ty.Any]) -> bool:
        found = volume.get('volume_image_metadata', {}).get('image_id')
        return bool(found == self.image['id'])

    def _failed(self, reason: str) -> ReimageFailed:
        return ReimageFailed(
            image_id=self.image['id'], volume_id=self.id,
            reason=reason.rstrip('.'))


def _is_busy(volume: dict[str, ty.Any]) -> bool:
    return bool(volume['status'] == 'downloading')


def _may_pass(error: BaseException) -> bool:
    """Tell whether an error says nothing about the volume itself."""
    if isinstance(error, cinder_exc.ClientException):
        return bool(error.code >= 500)
    if isinstance(error, ks_exc.HttpError):
        return bool(error.http_status >= 500)
    return isinstance(error, (
        exception.CinderConnectionFailed, ks_exc.ConnectionError,
        db_exc.DBError))
