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
