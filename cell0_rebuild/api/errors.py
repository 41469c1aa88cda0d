# SPDX-License-Identifier: Apache-2.0

"""Turn what Nova's create path raises into answers of the rebuild action.

Nova's rebuild action expects fewer exceptions than its create action, and
answers 500 to all others. The codes here are those of create.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from cinderclient import exceptions as cinder_exc
from glanceclient import exc as glance_exc
from keystoneauth1 import exceptions as ks_exc
from neutronclient.common import exceptions as neutron_exc
from nova.api.openstack.compute import servers
from nova import exception
from oslo_db import exception as db_exc
from oslo_limit import exception as limit_exc
from oslo_log import log as logging
import webob.exc

from cell0_rebuild import exceptions

LOG = logging.getLogger(__name__)

# What Nova's rebuild action turns into an answer by itself.
_KNOWN = (
    exception.AutoDiskConfigDisabledByImage,
    exception.CertificateValidationFailed,
    exception.Forbidden,
    exception.ImageNotActive,
    exception.ImageNotFound,
    exception.ImageUnacceptable,
    exception.InstanceInvalidState,
    exception.InstanceIsLocked,
    exception.InstanceNotFound,
    exception.InvalidArchitectureName,
    exception.InvalidMetadata,
    exception.InvalidVolume,
    exception.KeypairNotFound,
    exception.OverQuota,
    *servers.INVALID_FLAVOR_IMAGE_EXCEPTIONS,
)

# What Nova's create action answers with 400 whatever their own code is.
_BAD_REQUESTS = (
    exception.DeviceProfileError,
    exception.FixedIpAlreadyInUse,
    exception.ImageNotAuthorized,
    exception.InstanceUserDataMalformed,
)

_CONFLICTS = (
    exception.PortInUse,
    exception.InstanceExists,
    exception.NetworkAmbiguous,
    exception.NoUniqueMatch,
    exception.MixedInstanceNotSupportByComputeService,
)

# What fails while the request is checked, and may work again later. Nova's
# rebuild action knows no 503.
_FAILURES = {
    db_exc.DBError: 'A database',
    neutron_exc.NeutronException: 'The network service',
    cinder_exc.ClientException: 'The volume service',
    exception.CinderConnectionFailed: 'The volume service',
    glance_exc.BaseException: 'The image service',
    glance_exc.ClientException: 'The image service',
    exception.GlanceConnectionFailed: 'The image service',
    exception.PlacementAPIConnectFailure: 'The placement service',
    exception.UsagesRetrievalFailed: 'The placement service',
    exceptions.NoPlacement: 'The placement service',
    limit_exc.SessionInitError: 'The identity service',
    ks_exc.ClientException: 'Another service',
}


def conflict(reason: str) -> ty.NoReturn:
    """Refuse the request: the server or its surroundings do not allow it.

    :raises HTTPConflict: with the reason.
    """
    raise webob.exc.HTTPConflict(explanation=reason)


def _failed(error: Exception) -> str:
    return next(name for cls, name in _FAILURES.items()
                if isinstance(error, cls))


@contextlib.contextmanager
def translated() -> collections.abc.Iterator[None]:
    """Give exceptions of Nova's create path the code that create gives them.

    :raises HTTPConflict, HTTPBadRequest: with Nova's message.
    """
    try:
        yield
    except _KNOWN:
        raise
    except tuple(_FAILURES) as error:
        LOG.exception('The rebuild could not be checked.')
        conflict(f'{_failed(error)} does not answer as it should. Nothing was '
                 f'changed. Try again later.')
    except _CONFLICTS as error:
        raise webob.exc.HTTPConflict(
            explanation=error.format_message()) from error
    except exception.NovaException as error:
        if type(error) is exception.NovaException:
            # So Nova says that Neutron did not show a port.
            LOG.exception('The rebuild could not be checked.')
            conflict(f'{error.format_message()} Nothing was changed. Try '
                     f'again later.')
        if (error.kwargs.get('code', 500) >= 500
                and not isinstance(error, _BAD_REQUESTS)):
            raise
        raise webob.exc.HTTPBadRequest(
            explanation=error.format_message()) from error
