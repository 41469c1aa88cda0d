# SPDX-License-Identifier: Apache-2.0

"""What an error of Nova, or of a service that it asks, means to an owner."""

from __future__ import annotations

from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_log import log as logging

from cell0_rebuild import db_errors
from cell0_rebuild import exceptions
from cell0_rebuild.wait import outages
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values

LOG = logging.getLogger(__name__)


def refused(error: Exception, uuid: str) -> values.Reason:
    """Return why it cannot be told what a server asks for.

    :param error: of Nova, or of a service that it asks.
    :raises Exception: the error itself, if it is no problem of this server: a
        database or Placement is away.
    """
    if isinstance(error, outages.ALL):
        raise error
    if isinstance(error, exception.NoValidHost):
        # Its own text names the host.
        return texts.NO_SUCH_HOST
    if isinstance(error, exception.NovaException):
        return values.Reason(values.Code.BLOCKED, error.format_message())
    db_errors.without_values(error)
    LOG.warning('It cannot be told what the server asks for: %s',
                exceptions.text(error), instance_uuid=uuid)
    if (isinstance(error, neutron_exc.NeutronClientException)
            and 400 <= error.status_code < 500):
        return texts.NEUTRON_REFUSES
    return texts.UNKNOWN_DEMANDS
