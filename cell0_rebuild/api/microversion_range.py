# SPDX-License-Identifier: Apache-2.0

"""Which microversions this Nova has, and which one we add."""

from __future__ import annotations

import re

from nova.api.openstack import api_version_request
from oslo_config import cfg


def stock_range() -> tuple[str, str]:
    """Return the lowest and the highest microversion of this Nova."""
    return (api_version_request.min_api_version().get_string(),
            api_version_request.max_api_version().get_string())


def is_stock(number: str) -> bool:
    """Tell whether this Nova itself has the microversion."""
    if not re.fullmatch(r'[1-9]\d*\.(?:[1-9]\d*|0)', number):
        return False
    return bool(api_version_request.APIVersionRequest(number).matches(
        api_version_request.min_api_version(),
        api_version_request.max_api_version()))


def added() -> str | None:
    """Return the microversion that we add, or None if we add none."""
    if cfg.CONF.cell0_rebuild.api_microversion is not None:
        return None
    major, minor = stock_range()[1].split('.')
    return f'{major}.{int(minor) + 1}'
