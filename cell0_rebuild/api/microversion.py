# SPDX-License-Identifier: Apache-2.0

"""The REST gate: an added microversion, or one of Nova's, allows rebuilds.

Nova's own maximum stays. If it were raised, everything in Nova without an
upper limit would apply to the added number, but checks of older releases that
read the maximum at import would not. So a request for the added number is
served as Nova's maximum, with a mark.
"""

from __future__ import annotations

import contextvars
import copy
import dataclasses
import typing as ty

import microversion_parse
from nova.api.openstack import api_version_request
from nova.api.openstack import wsgi
from nova import exception
from oslo_config import cfg

from cell0_rebuild.api import microversion_range

# A well-formed image ID that passes Nova's JSON schema in place of none. It
# is replaced by the server's own image before Nova looks it up.
_ANY_IMAGE = '5c3d1f0e-8b7a-4c26-9d4e-7f6a3b2c1d08'


@dataclasses.dataclass(frozen=True)
class Gate:
    """What the microversion of a rebuild request allows.

    :param is_open: the request may rebuild a buried server.
    :param keeps_image: the request named no image: the server keeps its own.
    """

    is_open: bool
    keeps_image: bool


_SHUT = Gate(is_open=False, keeps_image=False)
_gate: contextvars.ContextVar[Gate] = contextvars.ContextVar(
    'cell0_rebuild_gate', default=_SHUT)


class AddedVersion(api_version_request.APIVersionRequest):
    """Compares as Nova's highest microversion and prints the added one."""

    def __init__(self, number: str) -> None:
        super().__init__(microversion_range.stock_range()[1])
        self._number = number

    def get_string(self) -> str:
        return self._number


def gate() -> Gate:
    """Return what the rebuild request in progress is allowed."""
    return _gate.get()


def set_api_version_request(
    wrapped: ty.Callable[..., None], request: wsgi.Request,
    *args: ty.Any, **kwargs: ty.Any,
) -> None:
    """Wrap ``Request.set_api_version_request``.

    :raises InvalidGlobalAPIVersion: as Nova, with the range that is
        advertised.
    """
    number = microversion_range.added()
    asked = microversion_parse.get_version(
        request.headers, service_type='compute',
        legacy_headers=[wsgi.LEGACY_API_VERSION_REQUEST_HEADER])
    if number is not None and asked in (number, 'latest'):
        request.api_version_request = AddedVersion(number)
        return
    try:
        wrapped(*args, **kwargs)
    except exception.InvalidGlobalAPIVersion as error:
        if number is None:
            raise
        raise exception.InvalidGlobalAPIVersion(
            req_ver=error.kwargs['req_ver'], min_ver=error.kwargs['min_ver'],
            max_ver=number) from error


def rebuild_action(
    wrapped: ty.Callable[..., ty.Any], controller: ty.Any, req: wsgi.Request,
    id: str, body: ty.Any,
) -> ty.Any:
    """Wrap the controller's rebuild action: carry the mark to the API."""
    version = req.api_version_request
    names_image = True
    if isinstance(version, AddedVersion):
        body, names_image = _with_image(body)
    token = _gate.set(Gate(_opens(version), keeps_image=not names_image))
    try:
        return wrapped(req, id, body=body)
    finally:
        _gate.reset(token)


def _opens(version: api_version_request.APIVersionRequest) -> bool:
    first = cfg.CONF.cell0_rebuild.api_microversion
    if first is None:
        return isinstance(version, AddedVersion)
    wanted = api_version_request.APIVersionRequest(first)
    return not version.is_null() and bool(version >= wanted)


def _with_image(body: ty.Any) -> tuple[ty.Any, bool]:
    """Return a body that has an imageRef, and whether it had one before."""
    try:
        if 'imageRef' not in body['rebuild']:
            body = copy.deepcopy(body)
            body['rebuild']['imageRef'] = _ANY_IMAGE
            return body, False
    except (TypeError, KeyError):
        pass  # Nova's schema says what is wrong with it
    return body, True
