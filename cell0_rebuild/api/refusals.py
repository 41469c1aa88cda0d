#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Turn what Nova's create path raises into answers of the rebuild action.

The rebuild action of Nova's controller expects fewer exceptions than its
create action; others would become a 500. The codes are those of create.
"""

from __future__ import annotations

import collections.abc
import contextlib
import typing as ty

from nova.api.openstack.compute import servers
from nova import exception
import webob.exc

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
    exception.NetworkAmbiguous,
    exception.NoUniqueMatch,
    exception.MixedInstanceNotSupportByComputeService,
)


def conflict(reason: str) -> ty.NoReturn:
    """Refuse the request: the server or its surroundings do not allow it.

    :raises HTTPConflict: with the reason.
    """
    raise webob.exc.HTTPConflict(explanation=reason)


@contextlib.contextmanager
def translated() -> collections.abc.Iterator[None]:
    """Give exceptions of Nova's create path the code that create gives them.

    :raises HTTPConflict, HTTPBadRequest: with Nova's message.
    """
    try:
        yield
    except _KNOWN:
        raise
    except _CONFLICTS as error:
        raise webob.exc.HTTPConflict(
            explanation=error.format_message()) from error
    except exception.NovaException as error:
        if (error.kwargs.get('code', 500) >= 500
                and not isinstance(error, _BAD_REQUESTS)):
            raise
        raise webob.exc.HTTPBadRequest(
            explanation=error.format_message()) from error
